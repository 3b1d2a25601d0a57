"""`kepler-train simulate …`: a Kepler node that does not exist, with known truth."""

from __future__ import annotations

import typer

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="A Kepler node that does not exist, with known truth."
)


@app.callback()
def simulate() -> None:
    """A Kepler node that does not exist, with known truth."""
