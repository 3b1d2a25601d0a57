"""The frequency limits of CPUs before a stress run, on disk before the first change, so that a kill loses nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from kepler_train.errors import UserError

STATE_FOLDER = Path("/run/kepler-train")
"""The same for every run on a machine, and gone after a restart, as are the frequencies that were set."""

_FILE = "cpufreq.json"
_BOOT = Path("/proc/sys/kernel/random/boot_id")

_CpuName = Annotated[str, StringConstraints(pattern=r"^cpu[0-9]+$")]


class Limits(BaseModel):
    """The frequencies (kHz) between which the governor of a CPU chooses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_khz: int = Field(gt=0)
    max_khz: int = Field(gt=0)


class _Saved(BaseModel):
    """The limits of the CPUs by name, and the boot since which they hold; CPUs that share theirs are listed once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    boot: str
    cpus: dict[_CpuName, Limits]


def save_limits(folder: Path, cpus: Mapping[str, Limits]) -> None:
    """Write the limits of CPUs by name, and be sure that they are on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"{_FILE}.new"
    with draft.open("w", encoding="utf-8") as file:
        file.write(_Saved(boot=_boot(), cpus=dict(cpus)).model_dump_json(indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _FILE)
    _sync(folder)


def load_limits(folder: Path) -> dict[str, Limits]:
    """Return the saved limits of CPUs by name; none when nothing is held, or the machine has been restarted since."""
    file = folder / _FILE
    try:
        saved = _Saved.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        detail = error.strerror if isinstance(error, OSError) else "it is not what a stress run writes"
        raise UserError(
            f"The CPU frequencies before an earlier stress run are in {file}, which cannot be read ({detail}): set"
            " the frequencies by hand and remove the file."
        ) from None
    if saved.boot != _boot():
        delete_limits(folder)
        return {}
    return saved.cpus


def delete_limits(folder: Path) -> None:
    """Delete the saved limits: nothing is held any more."""
    (folder / _FILE).unlink(missing_ok=True)
    _sync(folder)


def _boot() -> str:
    return _BOOT.read_text().strip() if _BOOT.exists() else ""


def _sync(folder: Path) -> None:
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
