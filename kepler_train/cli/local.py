"""`kepler-train local …`: the embedded stack of one laptop."""

from __future__ import annotations

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The embedded stack: PostgreSQL, Prometheus and Airflow on this machine.",
)


@app.callback()
def local() -> None:
    """The embedded stack: PostgreSQL, Prometheus and Airflow on this machine."""
