"""`kepler-train`: its commands, each importing what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from kepler_train.cli import demo, estimate, everyday, from_data, local, look, machine, query, simulate, steps, stress
from kepler_train.events import LogFormat, use_format

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: importing rich would double the time of every command
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train, judge and publish power models for Kepler.",
)
# In the order in which a person meets them: measure, look, train, hand over; then the machinery.
for command in (stress.stress, machine.machine, query.query, everyday.validate, look.plot, look.profile):
    app.command()(command)
for step in (everyday.extract, everyday.isolate, everyday.train):
    app.command()(step)
for on_frame in (from_data.isolate_from_data, from_data.train_from_data):
    app.command()(on_frame)
    app.command(on_frame.__name__, hidden=True)(on_frame)  # as the earlier tool spells it
for last in (estimate.estimate, everyday.export, steps.run_step, demo.demo):
    app.command()(last)
app.add_typer(simulate.app, name="simulate")
app.add_typer(local.app, name="local")


def _show_version(asked: bool) -> None:
    if asked:
        from kepler_train import __version__

        typer.echo(f"kepler-train {__version__}")
        raise typer.Exit


@app.callback()
def options(
    log_format: Annotated[
        LogFormat, typer.Option(envvar="KEPLER_TRAIN_LOG_FORMAT", help="Lines for people or for machines.")
    ] = LogFormat.HUMAN,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options that every command shares."""
    use_format(log_format)
