"""CPUs in a folder, as the kernel shows them below /sys: each file as in Documentation/admin-guide/pm/cpufreq."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cpu:
    """One CPU (MHz); with `shares` it has its frequency in common with an earlier one."""

    lowest: int = 800
    highest: int = 3500
    minimum: int = 800
    maximum: int = 3500
    now: int = 2000
    governor: str = "schedutil"
    online: bool = True
    shares: int | None = None


def make_sysfs(root: Path, cpus: Sequence[Cpu]) -> Path:
    folder = root / "devices" / "system" / "cpu"
    folder.mkdir(parents=True)
    for number, cpu in enumerate(cpus):
        (folder / f"cpu{number}").mkdir()
        if number:
            (folder / f"cpu{number}" / "online").write_text(f"{int(cpu.online)}\n")
        shared = number if cpu.shares is None else cpu.shares
        policy = folder / "cpufreq" / f"policy{shared}"
        (folder / f"cpu{number}" / "cpufreq").symlink_to(policy)
        if cpu.shares is None:
            policy.mkdir(parents=True)
            files = {
                "cpuinfo_min_freq": cpu.lowest,
                "cpuinfo_max_freq": cpu.highest,
                "scaling_min_freq": cpu.minimum,
                "scaling_max_freq": cpu.maximum,
                "scaling_cur_freq": cpu.now,
            }
            for name, mhz in files.items():
                (policy / name).write_text(f"{mhz * 1000}\n")
            (policy / "scaling_governor").write_text(f"{cpu.governor}\n")
    return root


def contents(root: Path) -> dict[str, str]:
    """Every file below a folder with what it holds."""
    return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file()}


def limits_mhz(root: Path) -> dict[str, tuple[int, int]]:
    """The lower and upper limit of every set of CPUs."""
    return {
        policy.name: (
            int((policy / "scaling_min_freq").read_text()) // 1000,
            int((policy / "scaling_max_freq").read_text()) // 1000,
        )
        for policy in sorted((root / "devices" / "system" / "cpu" / "cpufreq").iterdir())
    }
