"""Another user of this machine, as whom a test can do something."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from typing import TypeVar

import pytest

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")

Result = TypeVar("Result")


def as_nobody(act: Callable[[], Result]) -> Result:
    """Return what `act` returns in a child process that is the user nobody; what it imports is imported already."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with os.fdopen(writing, "wb") as answer:
                pickle.dump(act(), answer)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        content = answer.read()
    assert os.waitpid(child, 0)[1] == 0, "the other user's process failed"
    result: Result = pickle.loads(content)  # noqa: S301 - of our own child
    return result
