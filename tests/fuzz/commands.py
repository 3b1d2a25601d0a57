"""Commands as a person calls them, in this process."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import typer.main

from kepler_train.cli import main

# Typer makes the parser of all commands anew for each call, which takes longer than most cases.
_get_command = cache(typer.main.get_command)


def command(*arguments: str) -> None:
    """Run `kepler-train …`; what ends it otherwise than well leaves as SystemExit."""
    with patch("sys.argv", ["kepler-train", *arguments]), patch.object(typer.main, "get_command", _get_command):
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise
