"""What several models build on is made once for the rows they are fitted to."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Made = TypeVar("Made")


def made_once(make: Callable[..., Made]) -> Callable[..., Made]:
    """`make(rows, ...)`, which gives what it gave when its thread asks for the same of the same rows right after."""
    kept = threading.local()

    @wraps(make)
    def made(rows: Any, *given: Any) -> Made:
        last: tuple[weakref.ref[Any], tuple[Any, ...], Made] | None = getattr(kept, "last", None)
        if last and last[0]() is rows and last[1] == given:
            return last[2]
        found = make(rows, *given)
        kept.last = weakref.ref(rows), given, found
        return found

    return made
