"""Commands as child processes, forked from one that has imported the code: a kill hits work, not imports."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from killing import count_file_operations

HANGS = 240.0  # s; no command here takes a tenth of it
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        *(f"kepler_train.{step}.step" for step in ("plan", "query", "validate", "extract", "isolate", "train")),
        *(f"kepler_train.{step}.step" for step in ("evaluate", "export", "publish")),
        *("kepler_train.cli.app", "kepler_train.runs.temporary", "kepler_train.simulate.prometheus_server"),
        *("boto3", "matplotlib.pyplot", "onnxruntime", "skl2onnx", "skops.io", "sklearn.ensemble", "xgboost"),
    ]
)
# multiprocessing keeps one list of all children, and asks each for its end whenever another is started.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Place:
    """Where commands run: their folder, and the variables they see beside those of every process."""

    folder: Path
    environment: dict[str, str]

    @classmethod
    def made(cls, folder: Path, **environment: str) -> Place:
        """Return a new folder, with a folder for temporary files of its own."""
        (folder / "tmp").mkdir(parents=True)
        return cls(folder, environment | {"TMPDIR": str(folder / "tmp")})

    def seeing(self, **environment: str) -> Place:
        """Return the same folder with more variables."""
        return Place(self.folder, self.environment | environment)

    def left(self) -> list[str]:
        """Return what is left in the folder of temporary files."""
        return sorted(entry.name for entry in (self.folder / "tmp").iterdir())


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal, and everything it wrote."""

    code: int
    said: str

    @property
    def killed(self) -> bool:
        """Tell whether a kill ended it."""
        return self.code == -signal.SIGKILL


@dataclass
class Child:
    """A command at work."""

    process: BaseProcess
    log: Path

    def ended(self, kill_after: float = HANGS) -> Ended:
        """Wait for the end, and kill the command after so many seconds."""
        if not wait([self.process.sentinel], kill_after):
            self.process.kill()
        wait([self.process.sentinel])
        with _one_at_a_time:
            self.process.join()
        assert self.process.exitcode is not None
        said = self.log.read_text(encoding="utf-8", errors="replace")
        self.log.unlink()
        return Ended(self.process.exitcode, said)

    @property
    def at_work(self) -> bool:
        """Tell whether it has not ended yet."""
        return not wait([self.process.sentinel], 0)


def start(place: Place, *arguments: str, kill_at: int | None = None, operations: Path | None = None) -> Child:
    """Start `kepler-train …`, which kills itself before its operation number `kill_at`.

    An operation is a change of a file or a request to S3; `operations` gets how many there were.
    """
    number, name = tempfile.mkstemp(suffix=".log", dir=place.folder.parent)
    os.close(number)
    process = _FORKS.Process(target=_work, args=(place, arguments, Path(name), kill_at, operations))
    with _one_at_a_time:
        process.start()
    return Child(process, Path(name))


def run(place: Place, *arguments: str) -> Ended:
    """Run a command to its end."""
    return start(place, *arguments).ended()


@dataclass(frozen=True)
class Undisturbed:
    """What a command takes when nothing happens to it: s, and its number of operations."""

    seconds: float
    operations: int


def measured(place: Place, *arguments: str) -> Undisturbed:
    """Run a command that must succeed."""
    counted = place.folder / "operations"
    began = time.monotonic()
    ended = start(place, *arguments, operations=counted).ended()
    if ended.code != 0:
        raise RuntimeError(f"kepler-train {' '.join(arguments)} ended with {ended.code}: {ended.said}")
    seconds = time.monotonic() - began
    operations = int(counted.read_text(encoding="utf-8"))
    counted.unlink()
    return Undisturbed(seconds, operations)


def _work(place: Place, arguments: Sequence[str], log: Path, kill_at: int | None, operations: Path | None) -> None:
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    os.environ.update(place.environment)
    os.chdir(place.folder)
    tempfile.tempdir = None
    os.fsync = lambda _: None  # type: ignore[assignment]  # it guards against power cuts, which no kill is
    seen = _counting(place.folder, kill_at)
    from kepler_train.cli import main

    sys.argv = ["kepler-train", *arguments]
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    if operations:
        operations.write_text(str(seen()), encoding="utf-8")
    atexit._run_exitfuncs()  # which multiprocessing leaves out
    os._exit(code)


def _counting(folder: Path, kill_at: int | None) -> Callable[[], int]:
    """Count the operations of this process, kill it at one of them, and return how to ask for their number."""
    import boto3

    seen = 0

    def count(*_: object, **__: object) -> None:
        nonlocal seen
        if seen == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    boto3.setup_default_session()
    boto3.DEFAULT_SESSION.events.register("before-send.s3", count)
    count_file_operations(folder, count)
    return lambda: seen
