"""A step as a child process of the Airflow worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from kepler_airflow import command
from kepler_airflow.retries import raise_for
from kepler_train.processes import before_exec_of_child

if TYPE_CHECKING:
    from airflow.sdk import Context


class LocalStep(BaseOperator):
    """Runs `kepler-train run-step` with this worker's Python and shows its lines as the task's log."""

    template_fields: Sequence[str] = ("arguments", "env", "part")
    ui_color = "#e8f0e4"

    def __init__(self, *, step: str, part: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step, self.part = step, part
        self.arguments = command.arguments(step, part)
        self.env = command.environment(step)
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Context) -> None:  # noqa: ARG002
        """Run the step to its end."""
        program = [sys.executable, "-m", "kepler_train", *self.arguments]
        self._process = subprocess.Popen(
            program,
            env={**os.environ, **self.env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            # A step whose task process was killed must not go on writing beside its own retry.
            preexec_fn=before_exec_of_child(),
        )
        said = ""
        assert self._process.stdout is not None  # noqa: S101  # it is a pipe
        for line in self._process.stdout:
            said = line.rstrip()
            self._show(said)
        raise_for(self.step, self._process.wait(), said)

    def on_kill(self) -> None:
        """Stop the step and what it started when the task is cleared, failed or timed out."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)

    def _show(self, line: str) -> None:
        if line.startswith("error: "):
            self.log.error("%s", line)
        elif line.startswith("warning: "):
            self.log.warning("%s", line)
        else:
            self.log.info("%s", line)
