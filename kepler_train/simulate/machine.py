"""A simulated machine: sockets, cores, frequency steps, and its idle power."""

from __future__ import annotations

from dataclasses import dataclass, field

RAPL_COMPONENTS = ("package", "core", "uncore", "dram")
COMPONENTS = (*RAPL_COMPONENTS, "platform")


def _idle_watts() -> dict[str, float]:
    return {"package": 14.0, "core": 4.0, "uncore": 3.0, "dram": 2.5, "platform": 48.0}


@dataclass(frozen=True)
class Machine:
    """Two sockets of eight cores by default; idle power is per socket (W), `platform` per node (W)."""

    sockets: int = 2
    cores_per_socket: int = 8
    frequencies_mhz: tuple[int, ...] = (1200, 1600, 2000, 2400, 2800, 3200, 3600)
    idle_watts: dict[str, float] = field(default_factory=_idle_watts)

    @property
    def cores(self) -> int:
        """Return the CPUs of the whole machine; there is no hyper-threading."""
        return self.sockets * self.cores_per_socket

    def idle(self, component: str) -> float:
        """Return the idle power of the whole node (W); the platform feeds everything else too."""
        if component != "platform":
            return self.sockets * self.idle_watts[component]
        return self.idle_watts["platform"] + self.idle("package") + self.idle("dram")

    def governed_mhz(self, busy_cores: float) -> int:
        """Return the governor's step: lowest when idle, highest for one core, less the more share the heat."""
        steps = self.frequencies_mhz
        if busy_cores < 0.5:
            return steps[0]
        share = busy_cores / self.cores
        bins = sum(share > limit for limit in (0.13, 0.26, 0.51))
        return steps[max(len(steps) - 1 - bins, 0)]

    def sweep_mhz(self) -> tuple[int, ...]:
        """Return the sweep: from the lowest step + 800 MHz in steps of 800 MHz to the highest."""
        low, high = self.frequencies_mhz[0], self.frequencies_mhz[-1]
        return tuple(range(low + 800, high + 1, 800)) or (high,)

    def socket_shares(self, instances: int, first_cpu: int = 0) -> tuple[float, ...]:
        """Return the share of pinned instances on each socket; neighbouring CPUs are on different sockets."""
        on_socket = [0] * self.sockets
        for cpu in range(first_cpu, first_cpu + instances):
            on_socket[cpu % self.sockets] += 1
        return tuple(count / instances for count in on_socket)
