"""CPU frequencies through the kernel's cpufreq: read, held, and restored.

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
from kepler_train.stress.saved_limits import Limits, delete_limits, load_limits, save_limits

_MIN, _MAX = "scaling_min_freq", "scaling_max_freq"  # kHz


class NoSweep(Exception):
    """The reason why the CPU frequencies cannot be set, in one sentence."""


class Cpufreq:
    """The CPU frequencies below a sysfs root; the earlier limits are saved in `state` as long as they are held."""

    def __init__(self, sysfs: Path, state: Path) -> None:
        self._cpus = sysfs / "devices" / "system" / "cpu"
        self._state = state

    def sweep(self) -> list[int]:
        """Return the frequencies of the sweep (MHz); raise NoSweep where they cannot be set."""
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
        """Return the frequency now (MHz) as the mean over all CPUs; None where the kernel does not tell."""
        frequencies = []
        for cpu in self._online():
            with suppress(OSError, ValueError):  # a driver may not know, and a CPU may just have gone
                frequencies.append(_read(cpu / "cpufreq" / "scaling_cur_freq") / 1000)
        return fmean(frequencies) if frequencies else None

    def hold(self, mhz: int) -> None:
        """Hold all CPUs at a frequency, each within its range; if one refuses, all are restored."""
        try:
            policies = self._policies()
            now = {
                cpu: Limits(min_khz=_read(folder / _MIN), max_khz=_read(folder / _MAX))
                for cpu, folder in policies.items()
            }
            # What is remembered already is how it was before us; what is read now may be ours.
            save_limits(self._state, now | load_limits(self._state))
            for folder in policies.values():
                khz = min(max(mhz * 1000, _read(folder / "cpuinfo_min_freq")), _read(folder / "cpuinfo_max_freq"))
                _set_limits(folder, Limits(min_khz=khz, max_khz=khz))
        except (OSError, ValueError) as error:
            left = self.put_back()
            raise NoSweep(f"The CPUs cannot be held at {mhz} MHz: {error}. {left}".rstrip()) from None

    def put_back(self) -> str:
        """Restore the saved limits, also those of a killed run; return a sentence on what could not be restored."""
        saved = load_limits(self._state)
        if not saved:
            return ""
        failed: dict[str, Limits] = {}
        reason = ""
        for cpu, limits in saved.items():
            try:
                _set_limits(self._cpus / cpu / "cpufreq", limits)
            except (OSError, ValueError) as error:
                failed[cpu], reason = limits, str(error)
        try:
            if not failed:
                delete_limits(self._state)
            elif failed != saved:
                save_limits(self._state, failed)
        except OSError as error:
            reason = str(error)
        if not reason:
            return ""
        return (
            f"The earlier CPU frequencies could not be put back{' on ' if failed else ''}{', '.join(failed)}"
            f" ({reason}): run kepler-train stress --restore as root with all CPUs online, or remove {self._state}."
        )

    @property
    def held(self) -> bool:
        """Return whether frequencies are held, by this run or by one that was killed."""
        return bool(load_limits(self._state))

    def _online(self) -> Iterator[Path]:
        for cpu in sorted(self._cpus.glob("cpu[0-9]*")):
            with suppress(OSError):
                online = cpu / "online"  # the first CPU has no such file: it is always online
                if (cpu / "cpufreq").is_dir() and (not online.exists() or online.read_text().strip() != "0"):
                    yield cpu

    def _policies(self) -> dict[str, Path]:
        """Return one CPU of each set that shares its frequency, with the set's folder."""
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
