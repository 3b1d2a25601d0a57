"""The power law: node power = idle + a non-linear function of load, frequency, instructions and cache misses.

Per socket, with busy cores b, frequency f (GHz), instructions g (10⁹/s) and cache misses m (10⁶/s):

    V(f)    = 0.6 + 0.125·f                                   V, the supply voltage at that frequency
    core    = V²·(0.9·b·f + 0.9·g)                            W, switching power of clock and instructions
    uncore  = 5·(1 - e^(-b/2)) + 0.015·m/(1 + m/400)          W, mesh and caches wake up once, then traffic
    package = core + uncore + 0.0015·core²                    W, the last term is leakage through heat
    dram    = 0.05·m/(1 + m/400)                              W, the bus saturates

and for the node, with x the dynamic power of all packages and dram (W):

    platform = 1.08·x + 0.0006·x²                             W, power supply losses and fans
"""

from __future__ import annotations

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.activity import MISS_SATURATION, Drivers, share_of
from kepler_train.simulate.machine import COMPONENTS

CLOCK = 0.9  # W per (core · GHz · V²)
INSTRUCTION = 0.9  # W per (10⁹ instructions/s · V²)
WAKE, WAKE_CORES = 5.0, 2.0  # W, cores
MESH_TRAFFIC, DRAM_TRAFFIC = 0.015, 0.05  # W per 10⁶ misses/s
LEAKAGE = 0.0015  # 1/W
SUPPLY, FANS = 1.08, 0.0006  # W/W, 1/W


def voltage(ghz: Floats) -> Floats:
    """Return the supply voltage (V) at a frequency."""
    return 0.6 + 0.125 * ghz


def _switching(drivers: Drivers, ghz: Floats) -> Floats:
    return np.asarray(voltage(ghz) ** 2 * (CLOCK * drivers.busy * ghz + INSTRUCTION * drivers.instructions))


def true_dynamic_power(node: Drivers, ghz: Floats) -> dict[str, Floats]:
    """Return dynamic power (W) by socket and tick; `platform` has one row, the node."""
    core = _switching(node, ghz)
    traffic = node.misses / (1 + node.misses / MISS_SATURATION)
    uncore = WAKE * (1 - np.exp(-node.busy / WAKE_CORES)) + MESH_TRAFFIC * traffic
    package = core + uncore + LEAKAGE * core**2
    dram = DRAM_TRAFFIC * traffic
    fed = (package + dram).sum(axis=0, keepdims=True)
    platform = SUPPLY * fed + FANS * fed**2
    return dict(zip(COMPONENTS, (package, core, uncore, dram, platform), strict=True))


def attributed_power(part: Drivers, node: Drivers, ghz: Floats) -> dict[str, Floats]:
    """Return one container's part of the node's dynamic power (W) over its life; the parts add up.

    Each term of the law is a function of one sum over containers, so each container gets the term in proportion
    to its part of that sum. That is the Aumann-Shapley price: what it adds, averaged over every order and size
    in which the load could have grown to this mix. `node` and `ghz` are cut to the container's life.
    """
    core, all_core = _switching(part, ghz), _switching(node, ghz)
    wake = WAKE * (1 - np.exp(-node.busy / WAKE_CORES)) * share_of(part.busy, node.busy)
    traffic = part.misses / (1 + node.misses / MISS_SATURATION)
    uncore = wake + MESH_TRAFFIC * traffic
    package = core + uncore + LEAKAGE * all_core * core
    dram = DRAM_TRAFFIC * traffic
    whole = true_dynamic_power(node, ghz)
    fed = (whole["package"] + whole["dram"]).sum(axis=0)
    platform = (package + dram).sum(axis=0) * (SUPPLY + FANS * fed)
    by_socket = dict(zip(COMPONENTS, (package, core, uncore, dram), strict=False))
    return {**{name: watts.sum(axis=0) for name, watts in by_socket.items()}, "platform": platform}
