"""Airflow's own command line, on the database and with the settings of a running stack."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kepler_train.errors import TryAgain, UserError
from kepler_train.local.process import STACK_MARK
from kepler_train.local.stack import find
from kepler_train.local.state import home_folder

_LIKE = "scheduler"
"""The service whose settings a command gets: it is there whenever the stack is up."""


def run_airflow(home: Path | None, arguments: list[str]) -> None:
    """Replace this process by `airflow ARGUMENTS`."""
    environment = stack_environment(home)
    program = [sys.executable, "-P", "-m", "airflow", *arguments]
    sys.stdout.flush()
    os.execve(sys.executable, program, environment)  # noqa: S606  # the arguments are the user's own


def stack_environment(home: Path | None) -> dict[str, str]:
    """Return the environment in which Airflow's processes of a running stack work."""
    running = find(home)
    if running is None:
        raise UserError(f"No stack runs in {home_folder(home)}: start it with `kepler-train local up`.")
    [pid] = [service.pid for service in running.state.services if service.name == _LIKE] or [None]
    try:
        content = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        raise TryAgain(
            f"Airflow's {_LIKE} does not run at the moment: see `kepler-train local status`, and try again."
        ) from None
    variables = dict(line.split("=", 1) for line in os.fsdecode(content).split("\0") if "=" in line)
    variables.pop(STACK_MARK, None)  # what a person starts does not end with the stack
    # Of the caller's own, only what shapes the output: settings of another Airflow must not leak in.
    return variables | {name: os.environ[name] for name in ("TERM", "COLUMNS", "NO_COLOR") if name in os.environ}
