"""Instruction mixes: the work of one busy core per cycle, per instruction and per second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """An instruction mix.

    `ipc` instructions per cycle without memory contention; `misses` last-level cache misses and `hits` page
    cache hits per million instructions; interrupts per CPU second.
    """

    name: str
    ipc: float
    misses: float
    hits: float
    block_irq: float = 0.0
    net_rx_irq: float = 0.0
    net_tx_irq: float = 0.0

    @property
    def memory_bound(self) -> float:
        """Return how much a full memory bus slows this mix: 0 (not at all) to 1."""
        return min(1.0, self.misses / 20_000)


# Named as the stress-ng stressors. Page cache hits per CPU second lie a factor of about three apart, so that the
# mix can be told from bpf_page_cache_hit; they follow instructions, so frequency shows in them too.
STRESS_LOADS = {
    load.name: load
    for load in (
        Workload("regs", 3.2, 8, 0.0085, block_irq=0.2),
        Workload("cpu", 2.4, 20, 0.035, block_irq=0.3, net_rx_irq=0.5, net_tx_irq=0.2),
        Workload("branch", 1.6, 45, 0.155, block_irq=0.2),
        Workload("l1cache", 1.1, 300, 0.68, block_irq=0.4),
        Workload("vm-rw", 0.9, 6_000, 2.5, block_irq=3.0),
        Workload("cache", 0.55, 18_000, 12.0, block_irq=0.6),
        Workload("stream", 0.45, 25_000, 45.0, block_irq=0.5),
    )
}

SYSTEM = Workload("system", 0.9, 1_500, 0.12, block_irq=40, net_rx_irq=120, net_tx_irq=60)

# What a small cluster runs all the time: pod, namespace, mix, mean busy cores.
BACKGROUND: tuple[tuple[str, str, Workload, float], ...] = (
    ("kube-apiserver", "kube-system", Workload("kube-apiserver", 1.1, 1_200, 0.10, 2, 300, 280), 0.12),
    ("etcd", "kube-system", Workload("etcd", 0.8, 2_000, 0.14, 400, 150, 150), 0.08),
    ("kubelet-csr", "kube-system", Workload("kubelet-csr", 1.0, 900, 0.11, 5, 40, 40), 0.05),
    ("coredns", "kube-system", Workload("coredns", 1.0, 700, 0.10, 0, 500, 480), 0.03),
    ("kube-proxy", "kube-system", Workload("kube-proxy", 1.0, 800, 0.10, 0, 60, 30), 0.02),
    ("kepler", "kepler", Workload("kepler", 1.2, 1_000, 0.12, 1, 20, 30), 0.05),
    ("prometheus", "monitoring", Workload("prometheus", 1.0, 2_500, 0.13, 60, 120, 40), 0.07),
    ("webshop", "shop", Workload("webshop", 1.3, 1_100, 0.09, 4, 700, 650), 0.06),
)
JOB = Workload("report", 1.1, 1_800, 0.12, 90, 30, 60)


def blend(name: str, shares: Mapping[Workload, float]) -> Workload:
    """Return several mixes as one: `shares` are of CPU time; rates per instruction are weighted by instructions."""
    whole = sum(shares.values())
    ipc = sum(share / whole * mix.ipc for mix, share in shares.items())

    def per_second(of: Callable[[Workload], float]) -> float:
        return sum(share / whole * of(mix) for mix, share in shares.items())

    return Workload(
        name,
        ipc,
        per_second(lambda mix: mix.ipc * mix.misses) / ipc,
        per_second(lambda mix: mix.ipc * mix.hits) / ipc,
        per_second(lambda mix: mix.block_irq),
        per_second(lambda mix: mix.net_rx_irq),
        per_second(lambda mix: mix.net_tx_irq),
    )
