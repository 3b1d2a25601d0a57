"""`kepler-train local …`: the embedded stack of one laptop."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The embedded stack: PostgreSQL, Prometheus and Airflow on this machine.",
)

Home = Annotated[
    Path | None,
    typer.Option(envvar="KEPLER_TRAIN_HOME", help="Folder of the stack's files.", show_default="~/.kepler-train"),
]


class Runtime(StrEnum):
    """How Airflow runs a step."""

    LOCAL = "local"
    PODS = "pods"


@app.callback()
def local() -> None:
    """The embedded stack: PostgreSQL, Prometheus and Airflow on this machine."""


@app.command()
def up(
    home: Home = None,
    airflow_port: Annotated[int, typer.Option(help="Port of Airflow's UI; 0: 8080 if it is free, else any.")] = 0,
    prometheus_data: Annotated[
        Path | None, typer.Option(help="Serve these Prometheus blocks (folder) or this OpenMetrics recording (file).")
    ] = None,
    prometheus_url: Annotated[str, typer.Option(help="Use the Prometheus that runs there.")] = "",
    s3: Annotated[bool, typer.Option("--s3", help="Start an S3 server too.")] = False,
    bind: Annotated[str, typer.Option(help="Address to listen on; unencrypted, so keep it loopback.")] = "127.0.0.1",
    runtime: Annotated[Runtime, typer.Option(help="Run steps as local processes or as pods.")] = Runtime.LOCAL,
    workspace: Annotated[str, typer.Option(help="Where runs keep their files; default: HOME/workspace.")] = "",
    defaults: Annotated[Path | None, typer.Option(help="JSON file with defaults of run parameters.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait until everything works.")] = 180.0,
) -> None:
    """Start the stack and wait until it works; a stack that is up is found."""
    from kepler_train.events import say, warn
    from kepler_train.local.stack import Stack, find
    from kepler_train.local.state import Settings

    settings = Settings(
        bind=bind,
        airflow_port=airflow_port,
        prometheus_data=str(prometheus_data.absolute()) if prometheus_data else "",
        prometheus_url=prometheus_url,
        s3=s3,
        runtime=runtime.value,
        workspace=workspace if "://" in workspace or not workspace else str(Path(workspace).absolute()),
        defaults=str(defaults.absolute()) if defaults else "",
    )
    running = find(home)
    if running is None or running.state.phase == "stopping":
        stack = Stack(home, settings)
        say(f"Starting the stack in {stack.home}")
        running = stack.start(wait, say)
    else:
        if not running.state.settings.asks_for_the_same(settings):
            warn("It is up with other settings; to change them: kepler-train local down, then up again.")
        running.wait_well(wait)
        say(f"The stack in {running.home} is already up.")
    for name, url in running.state.urls.items():
        say(f"{name.capitalize() if name != 's3' else 'S3'}: {url}", **{name: url})
    say(running.login.line())


@app.command()
def login(home: Home = None) -> None:
    """Show the address of Airflow's UI, its user, and the password on a terminal, elsewhere the file of it."""
    from kepler_train.errors import UserError
    from kepler_train.events import say
    from kepler_train.local.stack import find
    from kepler_train.local.state import home_folder

    running = find(home)
    if running is None:
        raise UserError(f"No stack runs in {home_folder(home)}: start it with `kepler-train local up`.")
    say(f"Airflow: {running.airflow_url}", airflow=running.airflow_url)
    say(running.login.line())


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": [],
    }
)
def airflow(context: typer.Context, home: Home = None) -> None:
    """Run a command of Airflow on the stack, as in `local airflow dags list`; options of Airflow go after it."""
    from kepler_train.local.airflow_command import run_airflow

    run_airflow(home, context.args)


@app.command()
def down(home: Home = None) -> None:
    """Stop the stack; no process of it is left, its files stay."""
    from kepler_train.events import say
    from kepler_train.local.stack import end_leftovers, find, kept_outside
    from kepler_train.local.state import home_folder

    folder = home_folder(home)
    running = find(home)
    if running is not None:
        say(f"Stopped: {', '.join(reversed(running.stop()))}.")
    elif killed := end_leftovers(folder):
        say(f"Ended {len(killed)} processes of a stack that had lost its supervisor.")
    else:
        say(f"Nothing is up in {folder}.")
    if (folder / "state.json").exists():
        say(f"Its files stay in {folder}.")
    if folders := kept_outside(folder):
        say(f"Outside of it stay, for PostgreSQL's own user: {', '.join(map(str, folders))}")
        say(f"To remove those: kepler-train local clean --home {folder}")


@app.command()
def clean(home: Home = None) -> None:
    """Remove what a stack that is down keeps outside of its home: root's database and PostgreSQL's programs."""
    from kepler_train.errors import UserError
    from kepler_train.events import say
    from kepler_train.local.outside_home import remove
    from kepler_train.local.stack import find, kept_outside
    from kepler_train.local.state import home_folder

    folder = home_folder(home)
    if find(home) is not None:
        raise UserError(f"The stack in {folder} is up: stop it with `kepler-train local down` first.")
    folders = kept_outside(folder)
    removed = remove(folders)
    for entry in folders:
        say(f"Removed {entry}" if entry in removed else f"Left {entry}: another stack uses it")
    if not folders:
        say(f"The stack in {folder} keeps nothing outside of it.")


@app.command()
def status(home: Home = None) -> None:
    """Show the services; exit code 0: all well, 1: up but not well, 3: down."""
    from kepler_train.events import say
    from kepler_train.local.stack import find
    from kepler_train.local.state import home_folder

    running = find(home)
    if running is None:
        say(f"Down: no stack runs in {home_folder(home)}.")
        raise typer.Exit(3)
    state = running.state
    say(f"{'SERVICE':<14} {'STATE':<9} {'PID':>7} {'RESTARTS':>8}  {'ADDRESS':<28} LOG")
    for service in state.services:
        pid = service.pid if service.pid and service.state != "done" else "-"
        line = (
            f"{service.name:<14} {service.state:<9} {pid:>7} {service.restarts:>8}  {service.address:<28} {service.log}"
        )
        say(line, service=service.name, state=service.state, pid=service.pid, address=service.address)
        if service.note and not service.well:
            say(f"{'':<14} {service.note}")
    say(f"Database files: {state.postgres_data}")
    say(f"Login: user {running.login.user}, password in {running.login.file}; `kepler-train local login` shows it")
    raise typer.Exit(0 if state.well else 1)
