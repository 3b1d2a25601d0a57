"""Hints: parts of pod names that tell the load from the background."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kepler_train.errors import UserError
from kepler_train.isolate.containers import pod_of

_LISTED = 8


@dataclass(frozen=True)
class Hints:
    """Regular expressions that are looked for in pod names; where both are given, the target's decide."""

    target: Collection[str]
    background: Collection[str]

    def is_background(self, container: str) -> bool:
        """Whether a container is not the load."""
        pod = pod_of(container)
        return not _matches(self.target, pod) if self.target else _matches(self.background, pod)

    def check(self, containers: Iterable[str]) -> None:
        """Refuse hints that tell nothing apart."""
        pods = sorted({pod_of(name) for name in containers})
        found = [pod for pod in pods if _matches(self.target or self.background, pod)]
        kind = "target hints" if self.target else "background hints"
        hints, listed = ", ".join(self.target or self.background), ", ".join(pods[:_LISTED])
        more = f" and {len(pods) - _LISTED} more" if len(pods) > _LISTED else ""
        if not found:
            raise UserError(f"The {kind} {hints} match no pod: the data have {listed or 'none'}{more}.")
        if len(found) == len(pods):
            left = "background" if self.target else "load"
            raise UserError(f"The {kind} {hints} match every pod ({listed}{more}), so no {left} is left: narrow them.")


def _matches(hints: Collection[str], pod: str) -> bool:
    return any(re.search(hint, pod) for hint in hints)
