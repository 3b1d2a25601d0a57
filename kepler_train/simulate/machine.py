"""A simulated machine: sockets, cores, frequency steps, and its idle power."""

from __future__ import annotations

from dataclasses import dataclass

RAPL_COMPONENTS = ("package", "core", "uncore", "dram")
COMPONENTS = (*RAPL_COMPONENTS, "platform")
IDLE_WATTS = {"package": 14.0, "core": 4.0, "uncore": 3.0, "dram": 2.5, "platform": 48.0}  # per socket; platform: node
FREQUENCIES_MHZ = (1200, 1600, 2000, 2400, 2800, 3200, 3600)
MEMORY_GIB = 64


@dataclass(frozen=True)
class Machine:
    """Two sockets of eight cores by default."""

    sockets: int = 2
    cores_per_socket: int = 8

    @property
    def cores(self) -> int:
        """Return the CPUs of the whole machine; there is no hyper-threading."""
        return self.sockets * self.cores_per_socket

    def spec(self) -> dict[str, str | int]:
        """Return the attributes by which machines are told apart, as a machine spec has them."""
        return {
            "processor": "simulated",
            "cores": self.cores,
            "chips": self.sockets,
            "memory": MEMORY_GIB,
            "frequency": FREQUENCIES_MHZ[-1],
        }

    def idle(self, component: str) -> float:
        """Return the idle power of the whole node (W); the platform feeds everything else too."""
        if component != "platform":
            return self.sockets * IDLE_WATTS[component]
        return IDLE_WATTS["platform"] + self.idle("package") + self.idle("dram")

    def governed_mhz(self, busy_cores: float) -> int:
        """Return the governor's step: lowest when idle, highest for one core, less the more share the heat."""
        if busy_cores < 0.5:
            return FREQUENCIES_MHZ[0]
        share = busy_cores / self.cores
        bins = sum(share > limit for limit in (0.13, 0.26, 0.51))
        return FREQUENCIES_MHZ[-1 - bins]

    def sweep_mhz(self) -> tuple[int, ...]:
        """Return the sweep: from the lowest step + 800 MHz in steps of 800 MHz to the highest."""
        return tuple(range(FREQUENCIES_MHZ[0] + 800, FREQUENCIES_MHZ[-1] + 1, 800))

    def socket_shares(self, instances: int, first_cpu: int = 0) -> tuple[float, ...]:
        """Return the share of pinned instances on each socket; neighbouring CPUs are on different sockets."""
        on_socket = [0] * self.sockets
        for cpu in range(first_cpu, first_cpu + instances):
            on_socket[cpu % self.sockets] += 1
        return tuple(count / instances for count in on_socket)
