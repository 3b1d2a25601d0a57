"""Hints: parts of pod names that tell the load from the background."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kepler_train.errors import UserError
from kepler_train.isolate.containers import pod_of

_MOST_LISTED = 8


@dataclass(frozen=True)
class Hints:
    """Regular expressions that are searched in pod names; where both kinds are given, those of the target decide."""

    target: Collection[str]
    background: Collection[str]

    def is_background(self, container: str) -> bool:
        """Return whether a container is not the load."""
        pod = pod_of(container)
        return not _matches(self.target, pod) if self.target else _matches(self.background, pod)

    def check(self, containers: Iterable[str]) -> None:
        """Refuse hints that match no pod, or all of them."""
        pods = sorted({pod_of(name) for name in containers})
        matching = [pod for pod in pods if _matches(self.target or self.background, pod)]
        kind, rest = ("target hints", "background") if self.target else ("background hints", "load")
        hints, listed = ", ".join(self.target or self.background), ", ".join(pods[:_MOST_LISTED])
        more = f" and {len(pods) - _MOST_LISTED} more" if len(pods) > _MOST_LISTED else ""
        if not matching:
            raise UserError(f"The {kind} {hints} match no pod: the data have {listed or 'none'}{more}.")
        if len(matching) == len(pods):
            raise UserError(f"The {kind} {hints} match every pod ({listed}{more}), so no {rest} is left: narrow them.")


def _matches(hints: Collection[str], pod: str) -> bool:
    return any(re.search(hint, pod) for hint in hints)
