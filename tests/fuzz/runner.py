"""Run cases in children: forked from this process, which has imported everything and used nothing."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path

from fuzz.case import Case, Kind, kind_of
from fuzz.child import Mark, work_through
from fuzz.judging import MOST_MEMORY
from fuzz.outcome import CRASH, HANG, MEMORY, Outcome
from fuzz.place import Place

_BATCH = 200  # cases of a child
_MORE_TIME = 5  # times the CPU time that a case may take, until its end comes: the machine may have other work
_EVERY = 0.02  # seconds between looks at the children


def make_seeds(kind: str, folder: Path) -> list[Case]:
    """Return the valid inputs of a kind, made and tried in a child: threads of libraries do not survive a fork.

    What the child had to import for them is imported here, once for all children.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder.parent / f"{kind}.pickle"
    module = kind_of(kind)
    pid = os.fork()
    if not pid:
        code = 1
        try:
            cases = module.seeds(folder)
            _try_each(module, cases, folder)
            file.write_bytes(pickle.dumps((cases, list(sys.modules))))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if os.waitpid(pid, 0)[1]:
        sys.exit(f"The seeds of {kind} cannot be made.")
    cases, modules = pickle.loads(file.read_bytes())  # noqa: S301 - our own
    for name in modules:
        if name not in sys.modules and name != "__mp_main__":
            with suppress(ImportError):
                import_module(name)
    return list(cases)


def _try_each(module: Kind, cases: list[Case], seeds: Path) -> None:
    """Give the first valid input of every form to what reads it; an error here is one of the harness."""
    for case in {case.form: case for case in reversed(cases)}.values():
        with tempfile.TemporaryDirectory() as work, redirect_stdout(StringIO()):
            os.chdir(work)
            module.call(case, seeds, Path(work))


@dataclass(frozen=True)
class Limits:
    """CPU time (s) that a case may take, and children at a time."""

    seconds: float
    workers: int


@dataclass
class _Child:
    pid: int
    numbers: list[int]
    place: Place
    mark: Mark
    seen: int = -1  # the case at hand when last looked at
    spent: float = 0.0  # CPU time (s) before it


def run_cases(
    kind: str, source: Callable[[int], Case], numbers: Sequence[int], seeds: Path, scratch: Path, limits: Limits
) -> Iterator[Outcome]:
    """Yield what comes of every case."""
    gc.collect()
    gc.freeze()  # objects of this process stay where they are, so memory stays shared
    batches = [list(numbers[at : at + _BATCH]) for at in range(0, len(numbers), _BATCH)]
    batches.reverse()
    children: list[_Child] = []
    count = 0
    while batches or children:
        while batches and len(children) < limits.workers:
            count += 1
            children.append(_start(kind, source, batches.pop(), seeds, Place(scratch / f"{kind}-{count}")))
        time.sleep(_EVERY)
        for child in list(children):
            outcomes = _look_at(child, limits)
            if outcomes is None:
                continue
            children.remove(child)
            shutil.rmtree(child.place.folder, ignore_errors=True)
            yield from outcomes
            if rest := child.numbers[len(outcomes) :]:
                batches.append(rest)


def _start(kind: str, source: Callable[[int], Case], numbers: list[int], seeds: Path, place: Place) -> _Child:
    shutil.rmtree(place.folder, ignore_errors=True)
    place.folder.mkdir(parents=True)
    place.results.touch()
    place.output.touch()
    mark = Mark()
    pid = os.fork()
    if not pid:
        work_through(kind_of(kind), source, numbers, seeds, place, mark)
    return _Child(pid, numbers, place, mark)


def _look_at(child: _Child, limits: Limits) -> list[Outcome] | None:
    """Return the outcomes of a child that has ended, or had to be ended; None while it works."""
    ended, status, usage = os.wait4(child.pid, os.WNOHANG)
    result = ""
    if not ended:
        result = _over_limits(child, limits)
        if not result:
            return None
        os.kill(child.pid, signal.SIGABRT)  # so that its stack is written
        time.sleep(0.2)
        os.kill(child.pid, signal.SIGKILL)
        _, status, usage = os.wait4(child.pid, 0)
    outcomes = child.place.outcomes()
    number, began = child.mark.get()
    if number == -1 and not status:
        return outcomes
    if os.WIFEXITED(status) and not result:
        print(child.place.output.read_text(errors="replace"), file=sys.stderr)
        sys.exit(f"The harness failed at case {number}.")
    reason = f"signal {signal.Signals(status & 0x7F).name}" if os.WIFSIGNALED(status) else f"exit {status >> 8}"
    dump = child.place.output.read_bytes()[-20_000:].decode(errors="replace")
    return [
        *outcomes,
        Outcome(number, result or CRASH, f"{reason}\n{dump}", time.monotonic() - began, usage.ru_maxrss >> 10),
    ]


def _over_limits(child: _Child, limits: Limits) -> str:
    """Return what limit a child is beyond; empty where none."""
    number, began = child.mark.get()
    if number == -1:
        return ""
    try:
        resident = int(Path(f"/proc/{child.pid}/statm").read_text().split()[1]) * resource.getpagesize()
        times = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, IndexError):  # it ended just now
        return ""
    if resident > MOST_MEMORY:
        return MEMORY
    spent, elapsed = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"), time.monotonic() - began
    if child.seen != number:
        child.seen, child.spent = number, spent
    too_long = spent - child.spent > limits.seconds or elapsed > _MORE_TIME * limits.seconds
    return HANG if too_long else ""
