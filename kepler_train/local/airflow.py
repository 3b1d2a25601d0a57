"""Airflow's four processes on LocalExecutor, each a service; Airflow itself is not imported."""

from __future__ import annotations

import base64
import importlib.metadata
import importlib.util
import math
import os
import secrets
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kepler_train
from kepler_train.errors import UserError
from kepler_train.local.airflow_api import airflow_health, refuses_foreign_hosts
from kepler_train.local.files import write_private
from kepler_train.local.login import Login
from kepler_train.local.ports import Port
from kepler_train.local.service import Environment, Service

ALLOWED_HOSTS = "KEPLER_TRAIN_ALLOWED_HOSTS"
"""The environment variable by which the plugin is told what requests may be addressed to."""
GUARD = "kepler_train_plugin.py"
"""The file of the plugins folder that refuses all other requests."""
_TOKEN_KEY = "jwt.key"  # noqa: S105 - the name of a file
_COMPONENTS = {
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
}
"""Without --skip-serve-logs they would serve logs on all interfaces; the UI reads the files."""

_TUNABLE = {
    "core__load_examples": False,
    "core__dags_are_paused_at_creation": True,
    "core__min_serialized_dag_update_interval": 5,
    "api__workers": 1,
    "workers__min_heartbeat_interval": 1,  # at the default of 5 a slot lingers after a short task
    # A task lives through a restart of the API server or the database: about 40 s of trying again.
    "workers__max_failed_heartbeats": 5,
    "workers__execution_api_retries": 12,
    "workers__execution_api_retry_wait_max": 5,
    # A task whose process was killed is seen after 45 s, those of a killed scheduler after 30 s.
    "scheduler__task_instance_heartbeat_timeout": 45,
    "scheduler__task_instance_heartbeat_timeout_detection_interval": 5,
    "scheduler__scheduler_health_check_threshold": 30,
    "scheduler__orphaned_tasks_check_interval": 10,
    "scheduler__parsing_cleanup_interval": 30,
    "scheduler__use_job_schedule": True,
    # A new DAG file is seen within about 5 s; one that did not change is read again every minute.
    "dag_processor__refresh_interval": 5,
    "dag_processor__bundle_refresh_check_interval": 2,
    "dag_processor__min_file_process_interval": 60,
    "dag_processor__parsing_processes": 1,
    "dag_processor__print_stats_interval": 600,
    "logging__colored_console_log": False,
}


class AirflowSetup:
    """The home, database, keys and code folders that all of Airflow's processes share."""

    def __init__(
        self, home: Path, database_url: str, port: Port, dags: Path, plugins: Path, extra: Environment
    ) -> None:
        if importlib.util.find_spec("airflow") is None:
            raise UserError("Airflow was not found: install it with `pip install 'kepler-train[local]'`.")
        self.folder = home / "airflow"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._login = Login(home)
        if self._login.make():
            (self.folder / _TOKEN_KEY).unlink(missing_ok=True)  # tokens that were given before are worth nothing now
        self.port = port
        self.url = port.url
        self._database_url, self._extra = database_url, extra
        self._dags, self._plugins = dags, plugins
        self._health: tuple[float, dict[str, Any]] = (-math.inf, {})

    def environment(self) -> Environment:
        """Return Airflow's configuration; variables of the caller override `_TUNABLE`, but nothing else."""
        fixed = {
            "core__executor": "LocalExecutor",
            "core__dags_folder": self._dags,
            "core__plugins_folder": self._plugins,
            "core__auth_manager": "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager",
            "core__simple_auth_manager_all_admins": False,
            "core__simple_auth_manager_users": f"{self._login.user}:ADMIN",
            "core__simple_auth_manager_passwords_file": self._login.file,
            "core__execution_api_server_url": f"{self.url}/execution/",
            "core__fernet_key": self._secret("fernet.key"),
            "database__sql_alchemy_conn": self._database_url,
            "api__base_url": self.url,
            "api__secret_key": self._secret("api.key"),
            "api__access_control_allow_origins": "",
            "api__access_control_allow_methods": "",
            "api__access_control_allow_headers": "",
            "api_auth__jwt_secret": self._secret(_TOKEN_KEY),
            # Task logs would be made for everybody to read, and locks of DAG files in a folder that all users share.
            "logging__file_task_handler_new_folder_permissions": "0o700",
            "logging__file_task_handler_new_file_permissions": "0o600",
            "dag_processor__dag_bundle_storage_path": self.folder / "dag_bundles",
            "usage_data_collection__enabled": False,
        }
        return {
            **{name: value for name, value in _tuned().items() if name not in os.environ},
            **{_variable(name): str(value) for name, value in fixed.items()},
            ALLOWED_HOSTS: ",".join(allowed_hosts(self.port)),
            "AIRFLOW_HOME": str(self.folder),
            "AIRFLOW_CONFIG": str(self.folder / "airflow.cfg"),
            # Steps call `kepler-train`: the one that was asked, also when its environment is not activated.
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "SPT_NOENV": "1",  # process titles must not overwrite the environment by which we know our processes
            "PYTHONUNBUFFERED": "1",
            **self._extra,
        }

    def health(self) -> dict[str, Any]:
        """Return Airflow's report on its parts, asked at most once a second; nothing when it does not answer."""
        if time.monotonic() - self._health[0] > 1:
            self._health = (time.monotonic(), airflow_health(self.url, seconds=2))
        return self._health[1]

    def _secret(self, name: str) -> str:
        """Return a random key of 32 bytes, made once, readable by its owner only."""
        path = self.folder / name
        if not path.exists():
            write_private(path, base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
        return path.read_text()


class _AirflowService(Service):
    start_seconds = 180.0

    def __init__(self, name: str, arguments: list[str], setup: AirflowSetup, log: Path, needs: tuple[str, ...]) -> None:
        self.name, self.log, self.needs = name, log, needs
        self._arguments, self._setup = arguments, setup

    def command(self) -> list[str]:
        """Return this interpreter's Airflow, never one from PATH; -P keeps the working directory off its path."""
        return [sys.executable, "-P", "-m", "airflow", *self._arguments]

    def environment(self) -> Environment:
        return self._setup.environment()


class Migration(_AirflowService):
    """The migration of the database to this version's tables; skipped when it was done before."""

    once = True

    def __init__(self, setup: AirflowSetup, log: Path, done: Path) -> None:
        super().__init__("db-migrate", ["db", "migrate"], setup, log, needs=("postgres",))
        self._done = done
        self._version = f"{importlib.metadata.version('apache-airflow-core')} {kepler_train.__version__}"

    @property
    def due(self) -> bool:
        """Return whether the tables were made by another version, or never."""
        return not self._done.exists() or self._done.read_text() != self._version

    def ready(self) -> bool:
        """Return whether it ended well."""
        if self.child is None or self.child.exit_code != 0:
            return False
        if self.due:
            self._done.write_text(self._version)
        return True


class ApiServer(_AirflowService):
    """The UI, the REST API, and the execution API that tasks talk to."""

    def __init__(self, setup: AirflowSetup, log: Path, needs: tuple[str, ...]) -> None:
        listen = ["--host", setup.port.host, "--port", str(setup.port.number)]
        super().__init__("api-server", ["api-server", *listen], setup, log, needs)
        self.ports = (setup.port,)
        self._guarded = False

    @property
    def address(self) -> str:
        """Return the address of its UI."""
        return self._setup.url

    def prepare(self) -> None:
        """Trust nothing that an earlier start has shown."""
        self._guarded = False

    def ready(self) -> bool:
        """Return whether it answers, reaches its database, and refuses what is addressed to others."""
        if self._setup.health().get("metadatabase", {}).get("status") != "healthy":
            return False
        # Airflow goes on without a plugin that it cannot import: see that the guard is there.
        self._guarded = self._guarded or refuses_foreign_hosts(self._setup.url, seconds=2)
        return self._guarded


class Component(_AirflowService):
    """Scheduler, triggerer or DAG processor, judged by the heartbeat it leaves in the database."""

    stop_seconds = 8.0  # the scheduler would wait for running tasks to end; they are run again after the next start

    def __init__(self, name: str, setup: AirflowSetup, log: Path, needs: tuple[str, ...]) -> None:
        super().__init__(name, _COMPONENTS[name], setup, log, needs)
        self._key = name.replace("-", "_")
        self._started, self._well = datetime.now(UTC), False

    def prepare(self) -> None:
        """Note the time of this start: an earlier heartbeat does not count."""
        self._started, self._well = datetime.now(UTC), False

    def ready(self) -> bool:
        """Return whether its heartbeat since the start is recent; while the API is silent, the answer stays."""
        if health := self._setup.health():
            report = health.get(self._key, {})
            beat = report.get(f"latest_{self._key}_heartbeat")
            recent = report.get("status") == "healthy" and beat is not None
            self._well = bool(recent and datetime.fromisoformat(beat) > self._started)
        return self._well


def airflow_services(setup: AirflowSetup, logs: Path, migrated: Path) -> list[Service]:
    """Return Airflow's processes in the order of their start; `migrated` holds the version of the tables."""
    migration = Migration(setup, logs / "db-migrate.log", migrated)
    needs = ("postgres", migration.name) if migration.due else ("postgres",)
    api = ApiServer(setup, logs / "api-server.log", needs)
    parts = [Component(name, setup, logs / f"{name}.log", needs) for name in _COMPONENTS]
    return [*([migration] if migration.due else []), api, *parts]


def forget_other_airflows() -> None:
    """Remove the settings of another Airflow from the environment of this process.

    What may be tuned stays, and so do connections and variables (AIRFLOW_CONN_…, AIRFLOW_VAR_…).
    """
    ours = _tuned()
    for name in list(os.environ):
        if name.startswith("AIRFLOW_") and name not in ours and not name.startswith(("AIRFLOW_CONN_", "AIRFLOW_VAR_")):
            del os.environ[name]


def code_folder(name: str) -> Path:
    """Return the checkout's `dags` or `plugins`: KEPLER_TRAIN_DAGS or …_PLUGINS, beside the package, or here."""
    variable = f"KEPLER_TRAIN_{name.upper()}"
    if chosen := os.environ.get(variable):
        folder = Path(chosen).absolute()
        if not folder.is_dir():
            raise UserError(f"{variable} names {folder}, which is not a folder.")
        return folder
    candidates = [Path(kepler_train.__file__).parent.parent / name, Path.cwd() / name]
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise UserError(
        f"Airflow's {name} are neither in {candidates[0]} nor in {candidates[1]}:"
        f" start in a checkout, or set {variable} to the folder."
    )


def allowed_hosts(port: Port) -> list[str]:
    """Return what the `Host` of a request may be: this machine by the names of its loopback, or as it was bound."""
    names = {"127.0.0.1", "localhost", "[::1]", port.host}
    if port.host == "0.0.0.0":  # noqa: S104 - asked for with --bind
        names |= {socket.gethostname(), socket.getfqdn(), *socket.gethostbyname_ex(socket.gethostname())[2]}
    return sorted(f"{name}:{port.number}".lower() for name in names)


def _tuned() -> dict[str, str]:
    """Return the variables that yield to the caller's own."""
    # Two tasks per core: steps wait for servers and disks about as long as they compute.
    parallelism = max(2, 2 * len(os.sched_getaffinity(0)))
    return {_variable(name): str(value) for name, value in {"core__parallelism": parallelism, **_TUNABLE}.items()}


def _variable(name: str) -> str:
    return f"AIRFLOW__{name.upper()}"
