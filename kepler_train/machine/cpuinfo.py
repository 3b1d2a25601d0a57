"""Facts from /proc/cpuinfo, which each architecture writes in its own way."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kepler_train.machine.processor import arm_name, arm_vendor, clock_of, processor_name


@dataclass(frozen=True)
class CpuInfo:
    """The text of /proc/cpuinfo."""

    text: str

    def values(self, key: str) -> list[str]:
        """Return everything behind `key`, in the order of the file, without empty values."""
        return re.findall(rf"^{re.escape(key)}[ \t]*:[ \t]*(\S.*?)[ \t]*$", self.text, re.MULTILINE)

    def first(self, *keys: str) -> str:
        """Return the first value of the first of the keys that has one."""
        return next((values[0] for values in map(self.values, keys) if values), "")

    def cpus(self) -> int:
        """Count logical CPUs; IBM Z writes `processor 0: version = …`."""
        return len(re.findall(r"^processor[ \t]*(\d+[ \t]*:|:[ \t]*\d+[ \t]*$)", self.text, re.MULTILINE))

    def chips(self) -> int:
        """Count sockets; 0 where the file does not tell."""
        return len(set(self.values("physical id")))

    def processor(self) -> str | None:
        """Return the name of the processor, the same for every machine of its kind."""
        cores = self._arm_cores()
        if cores:  # of two kinds on phones and boards
            return "_".join(sorted({arm_name(*core) for core in cores}))
        machine = re.search(r"^processor .*\bmachine = (\w+)", self.text, re.MULTILINE)
        if machine:
            return f"ibm_z_{machine[1].lower()}"
        # POWER9 (architected), altivec supported
        model = self.first("model name", "Model Name", "cpu model", "uarch") or self.first("cpu").partition(",")[0]
        return processor_name(model)

    def vendor(self) -> str | None:
        """Return the maker of the processor, as genuineintel."""
        cores = self._arm_cores()
        if cores:
            return arm_vendor(cores[0][0])
        return processor_name(self.first("vendor_id"))

    def threads_per_core(self) -> int | None:
        """Return the logical CPUs of a core; None where the file does not tell."""
        siblings, cores = self.first("siblings"), self.first("cpu cores")
        return int(siblings) // int(cores) if siblings.isdecimal() and cores.isdecimal() and int(cores) else None

    def clock(self) -> float | None:
        """Return the clock in the model name, else the highest that a CPU runs at now (MHz)."""
        # POWER: clock : 3800.000000MHz; IBM Z: cpu MHz static : 5200
        now = [value for key in ("cpu MHz", "cpu MHz static", "CPU MHz", "clock") for value in self.values(key)]
        numbers = [float(number[0]) for value in now if (number := re.match(r"\d+(\.\d+)?", value))]
        return clock_of(self.first("model name")) or max(numbers, default=None)

    def is_virtual(self) -> bool | None:
        """Return whether x86 runs below a hypervisor; None on other architectures."""
        flags = self.first("flags").split()
        return "hypervisor" in flags if flags else None

    def _arm_cores(self) -> list[tuple[int, int]]:
        pairs = zip(self.values("CPU implementer"), self.values("CPU part"), strict=False)
        return [(int(who, 16), int(part, 16)) for who, part in pairs if _is_hex(who) and _is_hex(part)]


def _is_hex(text: str) -> bool:
    return re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text) is not None
