"""`kepler-train demo`: the main job end to end on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def demo(
    home: Annotated[
        Path | None,
        typer.Option(envvar="KEPLER_TRAIN_HOME", help="Folder of the stack's files.", show_default="~/.kepler-train"),
    ] = None,
    leave: Annotated[
        bool, typer.Option("--exit", help="Stop everything at the end, also on a terminal (DEMO_EXIT=1).")
    ] = False,
) -> None:
    """Train models of a simulated machine on the embedded stack, and show how good they are.

    On a terminal the Airflow UI stays up until Ctrl-C; elsewhere everything is stopped at the end.
    """
    from kepler_train.local.demo import demo as run

    stay = sys.stdin.isatty() and sys.stdout.isatty() and not leave and os.environ.get("DEMO_EXIT") != "1"
    run(home, stay)
