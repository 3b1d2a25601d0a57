"""A child works on many cases in a row, under limits, and notes which one it is at."""

from __future__ import annotations

import faulthandler
import gc
import json
import mmap
import os
import resource
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from fuzz.case import Case, Kind
from fuzz.guard import Guard
from fuzz.judging import MOST_MEMORY, judge
from fuzz.place import Place

_NOW = struct.Struct("qd")  # number of the case, and when it began (s)
# Beyond what is mapped already, mostly libraries: enough for what is above the limit to be seen as memory in use.
_MORE_ADDRESSES = 4 * MOST_MEMORY
_LARGEST_FILE = 1 << 30


class Mark:
    """Memory that parent and child share: the case at hand."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _NOW.size)
        self.set(-1)

    def set(self, number: int) -> None:
        """Note the case that begins now; −1 for none."""
        self._memory[:] = _NOW.pack(number, time.monotonic())

    def get(self) -> tuple[int, float]:
        """Return the case, and when it began."""
        number, began = _NOW.unpack(self._memory[:])
        return int(number), float(began)


def work_through(
    kind: Kind, source: Callable[[int], Case], numbers: Sequence[int], seeds: Path, place: Place, mark: Mark
) -> NoReturn:
    """Judge cases one after the other, and end this process."""
    code = 1
    try:
        _redirect(place.output)
        guard = Guard(getattr(kind, "ALLOWED", ()))
        _limit()
        place.box.mkdir()
        place.temporary.mkdir()
        os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = str(place.temporary)
        with place.results.open("a") as results:
            for number in numbers:
                mark.set(number)
                outcome = judge(kind, number, source(number), seeds, place, guard)
                print(json.dumps(asdict(outcome)), file=results, flush=True)
        mark.set(-1)
        code = 0
    except BaseException as error:  # of the harness
        print(f"harness: {error!r}", file=sys.__stderr__, flush=True)
        raise
    finally:
        os._exit(code)


def _redirect(output: Path) -> None:
    """Let stdout and stderr, and the stack of a crash, go to a file."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    sys.stdout.flush()
    sys.stderr.flush()
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    faulthandler.enable(descriptor, all_threads=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as a command prints
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    warnings.simplefilter("ignore")
    sys.dont_write_bytecode = True
    gc.set_threshold(10_000)  # as the command line does


def _limit() -> None:
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, mapped + _MORE_ADDRESSES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
    ):
        resource.setrlimit(what, (most, most))
