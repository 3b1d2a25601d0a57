"""The state of a stack in its home: settings, processes and addresses."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from kepler_train.local.files import lock_file, write_private
from kepler_train.local.private_home import STATE
from kepler_train.local.process import HOME, ProcessIdentity


def home_folder(chosen: Path | None = None) -> Path:
    """Return the chosen home, else $KEPLER_TRAIN_HOME, else ~/.kepler-train."""
    named = chosen or (Path(os.environ[HOME]) if os.environ.get(HOME) else Path("~/.kepler-train"))
    return named.expanduser().absolute()


@dataclass(frozen=True)
class Settings:
    """The options of `local up`."""

    bind: str = "127.0.0.1"
    airflow_port: int = 0
    prometheus_data: str = ""
    """A folder of Prometheus blocks, or a recording in OpenMetrics text."""
    prometheus_url: str = ""
    """A Prometheus that runs elsewhere."""
    s3: bool = False
    runtime: str = "local"
    workspace: str = ""
    defaults: str = ""
    dags: str = ""
    plugins: str = ""
    owner: tuple[int, int] | None = None
    """Pid and start of the process with which the stack ends, when it must not outlive one."""

    def asks_for_the_same(self, other: Settings) -> bool:
        """Return whether a stack with these settings serves a person who wants the `other` ones."""
        settings, wanted = asdict(self), asdict(other)
        return all(
            settings[name] == wanted[name]
            for name in settings
            if name != "owner" and wanted[name] != getattr(_DEFAULT, name)
        )


_DEFAULT = Settings()


@dataclass
class ServiceState:
    """One line of `local status`."""

    name: str
    state: str
    pid: int | None = None
    address: str = ""
    log: str = ""
    restarts: int = 0
    note: str = ""

    @property
    def well(self) -> bool:
        """Return whether it works, or has done its work."""
        return self.state in ("ready", "done")


@dataclass
class StackState:
    """The content of `state.json`."""

    phase: str
    """starting, up, stopping, failed or down"""
    supervisor: tuple[int, int] | None = None
    keeper: tuple[int, int] | None = None
    since: float = 0.0
    note: str = ""
    settings: Settings = _DEFAULT
    services: list[ServiceState] = field(default_factory=list)
    urls: dict[str, str] = field(default_factory=dict)
    postgres_data: str = ""
    warning: str = ""
    """What the person who starts it should know although it works."""

    @classmethod
    def read(cls, home: Path) -> Self | None:
        """Return the state of a home; None when there never was a stack."""
        try:
            raw: dict[str, Any] = json.loads((home / STATE).read_text())
        except (OSError, ValueError):
            return None
        owner = raw["settings"].pop("owner", None)
        raw["settings"] = Settings(**raw["settings"], owner=tuple(owner) if owner else None)
        raw["services"] = [ServiceState(**service) for service in raw["services"]]
        for name in ("supervisor", "keeper"):
            raw[name] = tuple(raw[name]) if raw[name] else None
        return cls(**raw)

    def write(self, home: Path) -> None:
        """Replace the file in one step."""
        write_private(home / STATE, json.dumps(asdict(self), indent=1) + "\n")

    @property
    def running(self) -> bool:
        """Return whether the supervisor or the keeper is alive."""
        return any(
            process is not None and ProcessIdentity(*process).alive for process in (self.supervisor, self.keeper)
        )

    @property
    def well(self) -> bool:
        """Return whether everything works."""
        return self.phase == "up" and all(service.well for service in self.services)


def lock_home(home: Path) -> IO[str] | None:
    """Return the lock of this home, held as long as the file is open; None when another stack has it."""
    return lock_file(home / "lock")
