"""A cache of one value, for what several trainers build from the same rows."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Value = TypeVar("Value")


def memoize_last(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return `function(rows, …)`, which repeats its last value while a thread passes the same rows and arguments."""
    cache = threading.local()

    @wraps(function)
    def memoized(rows: Any, *arguments: Any) -> Value:
        last: tuple[weakref.ref[Any], tuple[Any, ...], Value] | None = getattr(cache, "last", None)
        if last and last[0]() is rows and last[1] == arguments:
            return last[2]
        value = function(rows, *arguments)
        cache.last = weakref.ref(rows), arguments, value
        return value

    return memoized
