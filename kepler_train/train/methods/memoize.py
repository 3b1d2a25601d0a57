"""A cache of one result, for what several trainers build from the same rows."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Result = TypeVar("Result")


def memoize_last(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return `function(rows, …)`, which repeats its last result while a thread passes the same rows and arguments."""
    cache = threading.local()

    @wraps(function)
    def memoized(rows: Any, *arguments: Any) -> Result:
        last: tuple[weakref.ref[Any], tuple[Any, ...], Result] | None = getattr(cache, "last", None)
        if last and last[0]() is rows and last[1] == arguments:
            return last[2]
        result = function(rows, *arguments)
        cache.last = weakref.ref(rows), arguments, result
        return result

    return memoized
