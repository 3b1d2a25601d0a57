"""The process that reloads saved models: started for the first model of a run, and used for every one."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from kepler_train.models.component import Vector, Watts
from kepler_train.scratch import ScratchFolder

NATIVE = "native"  # the format of the model's own files; the others are called by their files


@dataclass(frozen=True)
class Predictions:
    """Power (W) of every row by format and component, and why a format could not be read."""

    watts: dict[tuple[str, str], Watts]
    errors: dict[str, str]


class ReloadProcess:
    """`python -m kepler_train.models.reload`. It ends when its input does, so also when this process is killed."""

    def __init__(self) -> None:
        self._scratch = ScratchFolder()
        self._log = (Path(self._scratch.name) / "log").open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kepler_train.models.reload"],  # -P: no module of the current folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            text=True,
        )

    def predict(self, folder: Path, columns: Mapping[str, Vector]) -> Predictions:
        """Return what each format of a saved model predicts."""
        rows, results = (str(Path(self._scratch.name, name)) for name in ("columns.npy", "answer.npy"))
        np.save(rows, np.array(list(columns.values())))
        request = {"folder": str(folder.resolve()), "features": list(columns), "columns": rows, "answer": results}
        response = self._exchange(request)
        formats = [(name, component) for name, component in response["watts"]]
        return Predictions(dict(zip(formats, np.load(results), strict=True)), response["errors"])

    def _exchange(self, request: Mapping[str, Any]) -> dict[str, Any]:
        requests, responses = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        try:
            print(json.dumps(request), file=requests, flush=True)
            line = responses.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._log.seek(0)
            last = self._log.read().decode(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"The process that checks saved models ended: {' '.join(last)}")
        response: dict[str, Any] = json.loads(line)
        return response

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._log.close()
        self._scratch.cleanup()


_lock = threading.Lock()
_running: tuple[int, ReloadProcess] | None = None  # with the id of the process that started it


def reloaded_predictions(folder: Path, columns: Mapping[str, Vector]) -> Predictions:
    """Return what each format of a saved model predicts in a process that did not train it."""
    global _running
    with _lock:
        # After a fork, the process belongs to the parent.
        if _running is None or _running[0] != os.getpid():
            _running = os.getpid(), ReloadProcess()
            atexit.register(_close)
        try:
            return _running[1].predict(folder, columns)
        except RuntimeError:
            _close()
            raise


def _close() -> None:
    global _running
    if _running is not None and _running[0] == os.getpid():
        _running[1].close()
        _running = None
