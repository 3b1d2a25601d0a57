"""The busy share of this machine's CPUs, package by package, from the kernel's own counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kepler_train.errors import UserError

Ticks = tuple[int, int]  # busy and idle time of one CPU since boot, in hundredths of a second


def cpu_ticks(stat: str) -> dict[int, Ticks]:
    """Return busy and idle time of each CPU from /proc/stat; waiting for a disk is idle, stolen time is busy."""
    ticks = {}
    for line in stat.splitlines():
        label, *fields = line.split()
        if not label.startswith("cpu"):
            break  # the CPUs come first
        if label != "cpu":
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields[:8])
            ticks[int(label[3:])] = (user + nice + system + irq + softirq + steal, idle + iowait)
    return ticks


def busy_share(before: Mapping[int, Ticks], now: Mapping[int, Ticks], cpus: Iterable[int]) -> float | None:
    """Return the busy share (0 to 1) of these CPUs between two readings, or None where no time was counted."""
    busy = idle = 0
    for cpu in cpus:
        if cpu in before and cpu in now:  # CPUs go offline and come back
            busy += max(now[cpu][0] - before[cpu][0], 0)
            idle += max(now[cpu][1] - before[cpu][1], 0)  # the kernel's iowait may fall
    return busy / (busy + idle) if busy + idle else None


def packages(cpus: Iterable[int], count: int = 0, sys: Path = Path("/sys")) -> list[list[int]]:
    """Return the CPUs of each package: as the machine has them, or split evenly into `count` packages."""
    real: dict[int, list[int]] = {}
    for cpu in sorted(cpus):
        real.setdefault(_package_id(sys, cpu), []).append(cpu)
    if count in (0, len(real)):
        return [real[package] for package in sorted(real)]
    every = [cpu for package in sorted(real) for cpu in real[package]]
    if not 1 <= count <= len(every):
        raise UserError(f"--packages {count} is out of range: this machine has {len(every)} CPUs to split among them.")
    return [every[len(every) * i // count : len(every) * (i + 1) // count] for i in range(count)]


def _package_id(sys: Path, cpu: int) -> int:
    try:
        return int((sys / f"devices/system/cpu/cpu{cpu}/topology/physical_package_id").read_text())
    except (OSError, ValueError):
        return 0  # a VM or container that shows no topology is one package
