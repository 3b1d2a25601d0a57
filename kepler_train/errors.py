"""Errors by who has to act: each is one sentence and one exit code.

| exit code | who acts | retried by the operators |
|---|---|---|
| 2  | the user changes something: a spec, a name, a secret, a path | no |
| 3  | nobody: the data cannot serve | no |
| 75 | time: a timeout, a refused connection, a server's 5xx | yes, with backoff |
| 99 | nobody: there is nothing to do here, as for a publication without keys | no: the task is skipped |

Anything else that ends a step is a bug and shows its traceback.
"""

from __future__ import annotations

import difflib
import errno
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pydantic import ValidationError

# A longer list of names hides the hint instead of helping.
_MOST_LISTED = 25
# Characters of a sentence, and of those at its end: what to do is said there.
_LONGEST, _ENDING, _CUT = 1_500, 500, " … "
_FULL = (errno.ENOSPC, errno.EDQUOT)
# What is wrong with a file that a user named, and not with us.
_UNUSABLE = (
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP),
)
# Characters of a wrong name that are compared with right ones, and shown.
_LONGEST_NAME = 100


class KeplerTrainError(Exception):
    """One sentence for a person: what, where, what to do.

    It may repeat what somebody else wrote, so it is shown on one line, printable and with an end.
    """

    exit_code: ClassVar[int]

    def __str__(self) -> str:
        return readable(super().__str__())


def readable(text: str) -> str:
    r"""Return a text on one line, with escapes for what a screen cannot show, and without the middle of an endless one.

    >>> readable("Node a\nb\x1b[2J is unknown.")
    'Node a b\\x1b[2J is unknown.'
    """
    if len(text) > _LONGEST:
        text = f"{text[: -_ENDING - len(_CUT) + _LONGEST]}{_CUT}{text[-_ENDING:]}"
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if letter.isspace() else letter.encode("unicode_escape", "backslashreplace").decode()


class UserError(KeplerTrainError):
    """The user must change something before this can work."""

    exit_code = 2


class DataError(KeplerTrainError):
    """The data cannot serve, however often it is tried."""

    exit_code = 3


class TryAgain(KeplerTrainError):
    """The same call may succeed later (`EX_TEMPFAIL` of sysexits.h)."""

    exit_code = 75


class Skipped(KeplerTrainError):
    """There is nothing to do, and that is no failure; Airflow shows the task as skipped."""

    exit_code = 99


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the sentence for a name that is not in the vocabulary, with the nearest one that is.

    >>> unknown_name("feature group", "BPFonly", ["BPFOnly", "Basic"])
    "There is no feature group 'BPFonly': did you mean 'BPFOnly'? Known: BPFOnly, Basic."
    """
    names = list(known)
    name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    hint = f": did you mean {by_lower[close[0]]!r}?" if close else "."
    listed = f" Known: {', '.join(names)}." if len(names) <= _MOST_LISTED else ""
    return f"There is no {kind} {name!r}{hint}{listed}"


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return where the first problem of a document is, as a dotted path, and what it is."""
    problem = error.errors(include_url=False)[0]
    return ".".join(map(str, problem["loc"])), problem["msg"].removeprefix("Value error, ")


@contextmanager
def room_for(what: str) -> Iterator[None]:
    """Refuse to go on when the disk has no room for something; other errors pass."""
    try:
        yield
    except OSError as error:
        if not _is_full(error):
            raise
        place = f" at {error.filename}" if error.filename else ""
        raise UserError(f"The disk is full{place}: make room for {what}.") from None


@contextmanager
def usable_files() -> Iterator[None]:
    """Refuse files that cannot be what they are named for, by their place, kind or owner; other errors pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in _UNUSABLE or not error.filename:
            raise
        raise UserError(f"{error.filename} cannot be used: {error.strerror}.") from None


def _is_full(error: OSError) -> bool:
    # What happened to the files of a folder that is copied is only in the words of the error.
    in_words = isinstance(error, shutil.Error) and any(f"[Errno {number}]" in str(error) for number in _FULL)
    return error.errno in _FULL or in_words
