"""The machine that was measured: the attributes of its node type, and facts that explain its figures later."""

from __future__ import annotations

import math
import re
from pathlib import Path

from pydantic import Field

from kepler_train.machine.cpuinfo import CpuInfo
from kepler_train.machine.node_attributes import Count, Name, NodeAttributes
from kepler_train.machine.virtualization import container, read, virtual_machine

_GIB = 2**30


class MachineSpec(NodeAttributes):
    """A machine as other tools of Kepler describe it, and more where it is known; None is unknown."""

    vendor: Name = Field(default=None, description="Vendor of the processor, as genuineintel.")
    threads_per_core: Count = None
    kernel: Name = Field(default=None, description="Release of the kernel, as uname -r prints it.")
    virtualization: Name = Field(default=None, description="The hypervisor, as kvm; none for hardware.")
    container: Name = Field(default=None, description="The container it was seen from, as docker; none for none.")
    kepler_version: Name = None


def this_machine(root: Path = Path("/")) -> MachineSpec:
    """Return the machine whose /proc and /sys are below `root`."""
    cpuinfo, cpus = CpuInfo(read(root / "proc/cpuinfo")), root / "sys/devices/system/cpu"
    return MachineSpec(
        processor=cpuinfo.processor() or read(root / "proc/sys/kernel/arch") or None,
        cores=_count(read(cpus / "online")) or cpuinfo.cpus() or None,
        chips=_chips(cpus) or cpuinfo.chips() or 1,
        memory=_memory(read(root / "proc/meminfo")),
        frequency=megahertz(_highest_clock(cpus) or cpuinfo.clock()),
        vendor=cpuinfo.vendor(),
        threads_per_core=_count(read(cpus / "cpu0/topology/thread_siblings_list")) or cpuinfo.threads_per_core(),
        kernel=read(root / "proc/sys/kernel/osrelease") or None,
        virtualization=virtual_machine(root, cpuinfo.is_virtual()),
        container=container(root),
    )


def megahertz(clock: float | None) -> int | None:
    """Return a clock (MHz) rounded to 100, as node types have it."""
    return round(clock / 100) * 100 or None if clock and math.isfinite(clock) else None


def gibibytes(memory: float) -> int:
    """Return memory in bytes as whole GiB, at least 1."""
    return max(1, int(memory / _GIB))


def _memory(meminfo: str) -> int | None:
    total = re.search(r"^MemTotal:\s*(\d+) kB", meminfo, re.MULTILINE)
    return gibibytes(int(total[1]) * 1024) if total else None


def _count(cpu_list: str) -> int | None:
    """Return how many CPUs a list such as 0-3,8 names."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", cpu_list):
        return None
    ranges = (part.split("-") for part in cpu_list.split(","))
    return sum(int(part[-1]) - int(part[0]) + 1 for part in ranges)


def _chips(cpus: Path) -> int:
    """Count sockets; 0 where the kernel does not know: virtual machines on Arm say −1."""
    packages = {read(file) for file in cpus.glob("cpu[0-9]*/topology/physical_package_id")}
    return len({package for package in packages if package.isdecimal()})


def _highest_clock(cpus: Path) -> float | None:
    """Return the highest clock that any CPU can be set to (MHz); the files are in kHz."""
    clocks = (read(file) for file in cpus.glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq"))
    return max((int(clock) / 1000 for clock in clocks if clock.isdecimal()), default=None)
