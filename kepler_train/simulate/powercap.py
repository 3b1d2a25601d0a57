"""A powercap tree as the kernel's RAPL driver shows it below /sys, in any folder.

`class/powercap/intel-rapl:N` is package N with sub-zones `intel-rapl:N:0` (core) and `intel-rapl:N:1` (dram);
the zone after the last package is psys. As in sysfs the entries of `class` are links into `devices/virtual`.
"""

from __future__ import annotations

import fcntl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kepler_train.errors import UserError

CONTROL = "intel-rapl"
DEFAULT_RANGE_UJ = 262_143_328_850  # of a common Intel server package


@dataclass(frozen=True)
class Zone:
    """One energy counter: its folder, the name in it, its column in the truth, and its package (None: all)."""

    folder: str
    name: str
    column: str
    package: int | None

    @property
    def kind(self) -> str:
        """Return Kepler's name for it: package, core, dram or psys."""
        return self.name.partition("-")[0]

    @property
    def parents(self) -> str:
        """Return the zone's folder below the control type: a sub-zone lies in its package's."""
        package = ":".join(self.folder.split(":")[:2])
        return self.folder if package == self.folder else f"{package}/{self.folder}"


def zones(packages: int) -> list[Zone]:
    """Return every zone of a machine with so many packages."""
    listed = []
    for n in range(packages):
        suffix = f"-{n}" if packages > 1 else ""  # every package has a core and a dram
        listed += [
            Zone(f"{CONTROL}:{n}", f"package-{n}", f"package-{n}", n),
            Zone(f"{CONTROL}:{n}:0", "core", f"core{suffix}", n),
            Zone(f"{CONTROL}:{n}:1", "dram", f"dram{suffix}", n),
        ]
    return [*listed, Zone(f"{CONTROL}:{packages}", "psys", "psys", None)]


class Tree:
    """The powercap tree below `root`, kept by one process at a time."""

    def __init__(self, root: Path, zones: Sequence[Zone], range_uj: int = DEFAULT_RANGE_UJ) -> None:
        self.root, self.zones, self.range_uj = root, list(zones), range_uj
        self._class, self._devices = root / "class/powercap", root / "devices/virtual/powercap" / CONTROL
        root.mkdir(parents=True, exist_ok=True)
        self._lock = (root / ".meter.lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise UserError(
                f"{root} is kept by another meter that still runs: stop it or choose another folder."
            ) from error
        self._check_same_zones()

    def counters(self) -> dict[str, int] | None:
        """Return what each zone's counter shows (µJ) by its column; None where there is no tree yet."""
        try:
            return {zone.column: int(self._file(zone, "energy_uj").read_text()) for zone in self.zones}
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise UserError(
                f"{self.root} has an energy counter that is not a number: choose an empty folder."
            ) from error

    def create(self, counters: Mapping[str, int]) -> None:
        """Create what is missing; the links come last, so that whoever finds a zone finds all its files."""
        self._class.mkdir(parents=True, exist_ok=True)
        for zone in self.zones:
            home = self._devices / zone.parents
            home.mkdir(parents=True, exist_ok=True)
            for name, text in (("name", zone.name), ("enabled", "1"), ("max_energy_range_uj", str(self.range_uj))):
                _replace(home / name, text)
        _replace(self._devices / "enabled", "1")
        self.show(counters)
        for folder, target in ((CONTROL, ""), *((zone.folder, zone.parents) for zone in self.zones)):
            if not (self._class / folder).is_symlink():
                (self._class / folder).symlink_to(Path("../../devices/virtual/powercap", CONTROL, target))

    def show(self, counters: Mapping[str, int]) -> None:
        """Set every counter (µJ)."""
        for zone in self.zones:
            _replace(self._file(zone, "energy_uj"), str(counters[zone.column]))

    def close(self) -> None:
        """Let another process keep the tree; it stays as it is."""
        self._lock.close()

    def _file(self, zone: Zone, name: str) -> Path:
        return self._devices / zone.parents / name

    def _check_same_zones(self) -> None:
        expected = {zone.folder: (zone.name, str(self.range_uj)) for zone in self.zones}
        existing = {
            path.parent.name: (path.read_text().strip(), (path.parent / "max_energy_range_uj").read_text().strip())
            for path in self._class.glob("*/name")
        }
        if any(expected.get(folder) != zone for folder, zone in existing.items()):
            self.close()
            raise UserError(
                f"{self.root} holds a powercap tree with other zones or another range: choose an empty folder."
            )


def _replace(path: Path, text: str) -> None:
    # A rename: whoever opens the path reads the old number or the new one, never a part of either.
    beside = path.with_name(f".{path.name}")
    beside.write_text(f"{text}\n")
    beside.replace(path)
