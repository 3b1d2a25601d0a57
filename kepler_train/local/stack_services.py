"""The services of a stack, for the settings it was asked for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from kepler_train.addresses import BadAddress, files_at, origin_of
from kepler_train.errors import UserError
from kepler_train.events import say
from kepler_train.local import outside_home
from kepler_train.local.airflow import GUARD, AirflowSetup, airflow_services, code_folder
from kepler_train.local.borrowed_blocks import borrow
from kepler_train.local.ports import take_port
from kepler_train.local.postgres import PostgresServer
from kepler_train.local.process import HOME
from kepler_train.local.prometheus import PrometheusServer, SimulatedPrometheus, fill_blocks
from kepler_train.local.seaweedfs import SeaweedServer
from kepler_train.local.server_user import shared_user_warning
from kepler_train.local.service import Service
from kepler_train.local.state import Settings


@dataclass
class StackServices:
    """Services in the order of their start, and the addresses that others will ask for."""

    services: list[Service]
    urls: dict[str, str]
    postgres_data: str
    warning: str = ""


STOP_ORDER: tuple[tuple[str, ...], ...] = (
    ("scheduler", "triggerer", "dag-processor", "db-migrate"),
    ("api-server",),  # after the others: they report their end to it
    ("prometheus", "s3"),
    ("postgres",),
)


def checked(settings: Settings) -> Settings:
    """Refuse settings that cannot work before anything is started; return complete settings."""
    if settings.prometheus_data and settings.prometheus_url:
        raise UserError("Give --prometheus-data or --prometheus-url, not both.")
    _check_address("--workspace", settings.workspace, files_at)
    _check_address("--prometheus-url", settings.prometheus_url, origin_of)
    if settings.prometheus_data and not Path(settings.prometheus_data).exists():
        raise UserError(f"--prometheus-data: {settings.prometheus_data} does not exist.")
    if settings.defaults and not Path(settings.defaults).is_file():
        raise UserError(f"--defaults: {settings.defaults} is not a file.")
    take_port(settings.bind, settings.airflow_port).release()
    dags, plugins = settings.dags or str(code_folder("dags")), settings.plugins or str(code_folder("plugins"))
    if not Path(plugins, GUARD).is_file():
        raise UserError(
            f"{plugins} has no {GUARD}, without which Airflow would answer to pages of other sites:"
            " copy what is in kepler-train's own plugins folder there."
        )
    return replace(settings, dags=dags, plugins=plugins)


def _check_address(option: str, address: str, read: Callable[[str], object]) -> None:
    """Refuse an address that is wrong or has a secret in it, before it is stored and shown."""
    try:
        if address:
            read(address)
    except BadAddress as error:
        raise UserError(f"{option}: {error}.") from None


def plan_services(home: Path, settings: Settings) -> StackServices:
    """Return the services with their ports and folders; nothing is started yet."""
    logs = home / "logs"
    urls: dict[str, str] = {}
    step_environment = {  # what the steps inherit from Airflow's processes
        HOME: str(home),
        "KEPLER_TRAIN_RUNTIME": settings.runtime,
        "KEPLER_TRAIN_WORKSPACE": settings.workspace or str(home / "workspace"),
    }
    if settings.defaults:
        step_environment["KEPLER_TRAIN_DEFAULTS"] = settings.defaults
    postgres = PostgresServer(home / "postgres", log=logs / "postgres.log")
    for leftover in outside_home.sweep():  # after our own database has said where it is: the home may have been moved
        say(f"Removed {leftover}, whose stack is gone")
    services: list[Service] = [postgres]
    if settings.prometheus_data:
        prometheus = make_prometheus(home, Path(settings.prometheus_data), settings.bind, logs / "prometheus.log")
        services.append(prometheus)
        urls["prometheus"] = prometheus.address
    elif settings.prometheus_url:
        urls["prometheus"] = settings.prometheus_url
    if "prometheus" in urls:
        step_environment["KEPLER_TRAIN_PROMETHEUS_URL"] = urls["prometheus"]
    if settings.s3:
        s3 = SeaweedServer(home / "s3", host=settings.bind, log=logs / "s3.log", buckets=_buckets(settings.workspace))
        services.append(s3)
        urls["s3"] = s3.endpoint
        step_environment.update(s3.client_environment())
    port = take_port(settings.bind, settings.airflow_port, prefer=8080)
    setup = AirflowSetup(
        home, postgres.sqlalchemy_url("airflow"), port, Path(settings.dags), Path(settings.plugins), step_environment
    )
    urls["airflow"] = setup.url
    services += airflow_services(setup, logs, postgres.place / "airflow-tables")
    for service in services:
        service.home = home
    return StackServices(services, urls, str(postgres.data), shared_user_warning(postgres.run_as))


def make_prometheus(home: Path, data: Path, host: str, log: Path) -> Service:
    """Return a server of the blocks in a folder, or of a recording, turned into blocks when new or changed."""
    if data.is_dir():
        server = PrometheusServer(home / "prometheus-borrowed", host=host, log=log)
        borrow(data, server.data)
        return server
    if shutil.which("prometheus") is None:
        return SimulatedPrometheus(data, host=host, log=log)
    blocks, note = home / "prometheus", home / "prometheus" / "filled-from"
    about = f"{data} {data.stat().st_size} {data.stat().st_mtime_ns}"
    if not note.exists() or note.read_text() != about:
        shutil.rmtree(blocks, ignore_errors=True)
        blocks.mkdir(parents=True)
        fill_blocks(data, blocks)
        note.write_text(about)
    return PrometheusServer(blocks, host=host, log=log)


def _buckets(workspace: str) -> tuple[str, ...]:
    parts = urlsplit(workspace)
    return (parts.netloc,) if parts.scheme == "s3" else ()
