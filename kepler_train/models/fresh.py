"""The process that did not train: started for the first model of a run, and asked about every one."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from kepler_train.models.component import Watts

NATIVE = "native"  # the format that is a model's own; the others are called by their files


@dataclass(frozen=True)
class Predictions:
    """Power (W) of every row by format and component, and what went wrong with a format."""

    watts: dict[tuple[str, str], Watts]
    errors: dict[str, str]


class FreshProcess:
    """`python -m kepler_train.models.check`; it ends when its input does, so also when this process is killed."""

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="kepler-train-")
        self._log = (Path(self._scratch.name) / "log").open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kepler_train.models.check"],  # -P: no module is taken from where we are
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            text=True,
        )

    def ask(self, folder: Path, columns: Mapping[str, Watts]) -> Predictions:
        """What each format of a saved model predicts."""
        given, written = (str(Path(self._scratch.name, name)) for name in ("columns.npy", "answer.npy"))
        np.save(given, np.array(list(columns.values())))
        request = {"folder": str(folder.resolve()), "features": list(columns), "columns": given, "answer": written}
        answer = self._exchange(request)
        names = [(name, component) for name, component in answer["watts"]]
        return Predictions(dict(zip(names, np.load(written), strict=True)), answer["errors"])

    def _exchange(self, request: Mapping[str, Any]) -> dict[str, Any]:
        requests, answers = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        try:
            print(json.dumps(request), file=requests, flush=True)
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._log.seek(0)
            last = self._log.read().decode(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"The process that checks saved models ended: {' '.join(last)}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._log.close()
        self._scratch.cleanup()


_turn = threading.Lock()
_running: tuple[int, FreshProcess] | None = None


def predictions_elsewhere(folder: Path, columns: Mapping[str, Watts]) -> Predictions:
    """What each format of a saved model predicts in a process other than this one."""
    global _running
    with _turn:
        # After a fork, the process belongs to the parent.
        if _running is None or _running[0] != os.getpid():
            _running = os.getpid(), FreshProcess()
            atexit.register(_close)
        try:
            return _running[1].ask(folder, columns)
        except RuntimeError:
            _close()
            raise


def _close() -> None:
    global _running
    if _running is not None and _running[0] == os.getpid():
        _running[1].close()
        _running = None
