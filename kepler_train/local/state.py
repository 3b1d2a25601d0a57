"""What a home remembers of its stack: settings, who runs it, where everything is."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from kepler_train.local.process import HOME, Identity


def home_folder(chosen: Path | None = None) -> Path:
    """The home that was asked for, else $KEPLER_TRAIN_HOME, else ~/.kepler-train."""
    named = chosen or (Path(os.environ[HOME]) if os.environ.get(HOME) else Path("~/.kepler-train"))
    return named.expanduser().absolute()


@dataclass(frozen=True)
class Settings:
    """What `local up` was asked for."""

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
        """Whether a stack with these settings serves who asked for the `other` ones."""
        mine, theirs = asdict(self), asdict(other)
        return all(
            mine[name] == theirs[name] for name in mine if name != "owner" and theirs[name] != getattr(_DEFAULT, name)
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
        """It works, or has done its work."""
        return self.state in ("ready", "done")


@dataclass
class StackState:
    """The whole of `state.json`."""

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

    @classmethod
    def read(cls, home: Path) -> Self | None:
        """None when there never was a stack."""
        try:
            raw: dict[str, Any] = json.loads((home / "state.json").read_text())
        except (OSError, ValueError):
            return None
        owner = raw["settings"].pop("owner", None)
        raw["settings"] = Settings(**raw["settings"], owner=tuple(owner) if owner else None)
        raw["services"] = [ServiceState(**service) for service in raw["services"]]
        for name in ("supervisor", "keeper"):
            raw[name] = tuple(raw[name]) if raw[name] else None
        return cls(**raw)

    def write(self, home: Path) -> None:
        """Replace the file in one step: readers see the old state or the new one."""
        write_private(home / "state.json", asdict(self))

    @property
    def running(self) -> bool:
        """Whether a process of the stack's own is alive."""
        return any(who is not None and Identity(*who).alive for who in (self.supervisor, self.keeper))

    @property
    def well(self) -> bool:
        """Everything works."""
        return self.phase == "up" and all(service.well for service in self.services)


def write_private(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON that only its owner can read, in one step."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(content, indent=1) + "\n")
    draft.rename(path)


def lock_home(home: Path) -> IO[str] | None:
    """The right to run a stack in this home, for as long as the file is open; None when another has it."""
    home.mkdir(parents=True, exist_ok=True)
    file = (home / "lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
