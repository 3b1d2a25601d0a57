"""`kepler-train`: its commands, each importing what it needs when it is called."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Annotated

import typer

from kepler_train.cli import (
    data,
    demo,
    estimate,
    everyday,
    from_data,
    local,
    look,
    machine,
    models,
    models_age,
    models_publish,
    query,
    simulate,
    steps,
    stress,
)
from kepler_train.cli.export import export
from kepler_train.cli.parameters import SpecCommand
from kepler_train.errors import UserError
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
    app.command(cls=SpecCommand)(command)
for step in (everyday.extract, everyday.isolate, everyday.train):
    app.command(cls=SpecCommand)(step)
app.command(cls=SpecCommand)(data.collect)
app.add_typer(data.app, name="data")
# What it does not know are options of `train`.
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(data.retrain)
for on_frame in (from_data.isolate_from_data, from_data.train_from_data):
    app.command(cls=SpecCommand)(on_frame)
    app.command(on_frame.__name__, cls=SpecCommand, hidden=True)(on_frame)  # as the earlier tool spells it
for last in (estimate.estimate, export):
    app.command(cls=SpecCommand)(last)
models.app.command("age")(models_age.age)
models.app.command("publish", cls=SpecCommand)(models_publish.publish)
app.add_typer(models.app, name="models")
app.command(cls=SpecCommand)(steps.run_step)


def _add_optional(name: str, package: str, add: Callable[[], object]) -> None:
    """Add a command whose package the step image leaves out, or one that says so."""
    if find_spec(package):
        add()
        return

    anything = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

    @app.command(name, hidden=True, context_settings=anything)
    def not_installed() -> None:
        raise UserError(f"`kepler-train {name}` is not in the image of the steps: install kepler-train to use it.")


_add_optional("demo", "kepler_train.local", lambda: app.command()(demo.demo))
_add_optional("simulate", "kepler_train.simulate", lambda: app.add_typer(simulate.app, name="simulate"))
_add_optional("local", "kepler_train.local", lambda: app.add_typer(local.app, name="local"))


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
    """Set what holds for every command."""
    use_format(log_format)
