"""Errors by who has to act: each is one sentence and one exit code.

| exit code | who acts | retried by the operators |
|---|---|---|
| 2  | the user changes something: a spec, a name, a secret, a path | no |
| 3  | nobody: the data cannot serve | no |
| 75 | time: a timeout, a refused connection, a server's 5xx | yes, with backoff |

Anything else that ends a step is a bug and shows its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pydantic import ValidationError

# A longer list of names hides the hint instead of helping.
_MOST_LISTED = 25


class KeplerTrainError(Exception):
    """One sentence for a person: what, where, what to do."""

    exit_code: ClassVar[int]


class UserError(KeplerTrainError):
    """The user must change something before this can work."""

    exit_code = 2


class DataError(KeplerTrainError):
    """The data cannot serve, however often it is tried."""

    exit_code = 3


class TryAgain(KeplerTrainError):
    """The same call may succeed later (`EX_TEMPFAIL` of sysexits.h)."""

    exit_code = 75


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the sentence for a name that is not in the vocabulary, with the nearest one that is.

    >>> unknown_name("feature group", "BPFonly", ["BPFOnly", "Basic"])
    "There is no feature group 'BPFonly': did you mean 'BPFOnly'? Known: BPFOnly, Basic."
    """
    names = list(known)
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    hint = f": did you mean {by_lower[close[0]]!r}?" if close else "."
    listed = f" Known: {', '.join(names)}." if len(names) <= _MOST_LISTED else ""
    return f"There is no {kind} {name!r}{hint}{listed}"


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return where the first problem of a document is, as a dotted path, and what it is."""
    problem = error.errors(include_url=False)[0]
    return ".".join(map(str, problem["loc"])), problem["msg"].removeprefix("Value error, ")
