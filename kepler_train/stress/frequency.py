"""CPU frequencies through the kernel's cpufreq: read, held, and put back as they were.

A frequency is held by making it both limits of every CPU: that works with every driver and governor, and so neither
the governor nor anything else has to be changed and put back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from kepler_train.stress.plan import sweep_mhz
from kepler_train.stress.remembered import Limits, Remembered, forget, recall, remember

_MIN, _MAX = "scaling_min_freq", "scaling_max_freq"  # kHz


class NoSweep(Exception):
    """Why the CPU frequencies cannot be set, in one sentence."""


class Cpufreq:
    """The CPU frequencies below a sysfs root; what they were is kept in `state` as long as they are held."""

    def __init__(self, sysfs: Path, state: Path) -> None:
        self._cpus = sysfs / "devices" / "system" / "cpu"
        self._state = state

    def sweep(self) -> list[int]:
        """The frequencies of the sweep (MHz), if they can be set here."""
        policies = self._policies()
        if not policies:
            raise NoSweep(f"The frequency sweep is left out: there is no cpufreq below {self._cpus}.")
        for folder in policies.values():
            for name in (_MIN, _MAX):
                if not _writable(folder / name):
                    raise NoSweep(
                        f"The frequency sweep is left out: {folder / name} cannot be written; it needs root and a"
                        " writable /sys."
                    )
        place = next(folder for folder in (self._state, *self._state.absolute().parents) if folder.exists())
        if not os.access(place, os.W_OK):
            raise NoSweep(
                f"The frequency sweep is left out: the frequencies before it cannot be kept in {self._state}; choose"
                " another folder with --state or KEPLER_TRAIN_STRESS_STATE."
            )
        lowest, highest = self._range_khz(policies)
        frequencies = sweep_mhz(lowest / 1000, highest / 1000)
        if not frequencies:
            raise NoSweep(
                f"The frequency sweep is left out: from {lowest / 1000:g} to {highest / 1000:g} MHz there is no room"
                " for a step of 800 MHz."
            )
        return frequencies

    def seen_mhz(self) -> float | None:
        """The frequency now, as the kernel says: the mean over all CPUs."""
        seen = []
        for cpu in self._online():
            with suppress(OSError, ValueError):  # a driver may not know, and a CPU may just have gone
                seen.append(_read(cpu / "cpufreq" / "scaling_cur_freq") / 1000)
        return fmean(seen) if seen else None

    def hold(self, mhz: int) -> None:
        """Hold all CPUs at a frequency, each within what it can do; all are put back if one refuses."""
        try:
            policies = self._policies()
            now = {
                cpu: Limits(min_khz=_read(folder / _MIN), max_khz=_read(folder / _MAX))
                for cpu, folder in policies.items()
            }
            earlier = recall(self._state)
            # What is remembered already is how it was before us; what is read now may be ours.
            remember(self._state, Remembered.of({**now, **(earlier.cpus if earlier else {})}))
            for folder in policies.values():
                khz = min(max(mhz * 1000, _read(folder / "cpuinfo_min_freq")), _read(folder / "cpuinfo_max_freq"))
                _set_limits(folder, Limits(min_khz=khz, max_khz=khz))
        except (OSError, ValueError) as error:
            left = self.put_back()
            raise NoSweep(f"The CPUs cannot be held at {mhz} MHz: {error}. {left}".rstrip()) from None

    def put_back(self) -> str:
        """Put all CPUs back to what is remembered, also of a run that was killed; what could not be, in a sentence."""
        kept = recall(self._state)
        if kept is None:
            return ""
        left: dict[str, Limits] = {}
        reason = ""
        for cpu, limits in kept.cpus.items():
            try:
                _set_limits(self._cpus / cpu / "cpufreq", limits)
            except (OSError, ValueError) as error:
                left[cpu], reason = limits, str(error)
        try:
            if not left:
                forget(self._state)
            elif left != kept.cpus:
                remember(self._state, Remembered.of(left))
        except OSError as error:
            reason = str(error)
        if not reason:
            return ""
        return (
            f"The earlier CPU frequencies could not be put back{' on ' if left else ''}{', '.join(left)} ({reason}):"
            f" run kepler-train stress --restore as root with all CPUs online, or remove {self._state}."
        )

    @property
    def held(self) -> bool:
        """Whether frequencies are held, by this run or by one that was killed."""
        return recall(self._state) is not None

    def _online(self) -> Iterator[Path]:
        for cpu in sorted(self._cpus.glob("cpu[0-9]*")):
            with suppress(OSError):
                online = cpu / "online"  # the first CPU has no such file: it is always online
                if (cpu / "cpufreq").is_dir() and (not online.exists() or online.read_text().strip() != "0"):
                    yield cpu

    def _policies(self) -> dict[str, Path]:
        """One CPU of each set that share their frequency, with the set's folder."""
        first: dict[Path, str] = {}
        for cpu in self._online():
            first.setdefault((cpu / "cpufreq").resolve(), cpu.name)
        return {name: folder for folder, name in first.items()}

    def _range_khz(self, policies: dict[str, Path]) -> tuple[int, int]:
        try:
            return (
                min(_read(folder / "cpuinfo_min_freq") for folder in policies.values()),
                max(_read(folder / "cpuinfo_max_freq") for folder in policies.values()),
            )
        except (OSError, ValueError) as error:
            raise NoSweep(f"The frequency sweep is left out: the range of the CPUs cannot be read ({error}).") from None


def _set_limits(policy: Path, limits: Limits) -> None:
    # The kernel refuses a lower limit above the upper one, so the one that makes room goes first.
    order = [(_MIN, limits.min_khz), (_MAX, limits.max_khz)]
    for name, khz in order if limits.min_khz <= _read(policy / _MAX) else reversed(order):
        _write(policy / name, khz)


def _read(file: Path) -> int:
    return int(file.read_text())


def _write(file: Path, khz: int) -> None:
    file.write_text(f"{khz}\n")


def _writable(file: Path) -> bool:
    try:
        with file.open("r+"):  # opening alone changes nothing, and asks the file system too, not only the mode
            return True
    except OSError:
        return False
