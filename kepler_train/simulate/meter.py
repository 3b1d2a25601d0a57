"""The power meter: its noise, and so the error below which no model can be judged."""

from __future__ import annotations

import math

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.machine import COMPONENTS, Machine

REFERENCE_SECONDS = 15.0
# Standard deviation (W) of mean power over 15 s: per socket, for platform of the node. White in power, so it falls
# with the square root of the interval.
NOISE_WATTS = {"package": 0.8, "core": 0.5, "uncore": 0.12, "dram": 0.1, "platform": 1.8}
# Energy (J) of one step of the counter: RAPL's unit is 2⁻¹⁴ J; board sensors report whole joules.
QUANTUM_JOULES = {"package": 2**-14, "core": 2**-14, "uncore": 2**-14, "dram": 2**-14, "platform": 1.0}


def metered_joules(component: str, watts: Floats, tick: float, rng: np.random.Generator) -> Floats:
    """Return the energy (J) of each tick with the meter's noise; never negative, so counters never fall."""
    noise = rng.normal(0, NOISE_WATTS[component] * math.sqrt(REFERENCE_SECONDS / tick), watts.shape)
    return np.asarray(np.maximum(watts + noise, 0) * tick)


def read_energy(component: str, energy: Floats) -> Floats:
    """Return what the counter shows (J): whole quanta of the energy that went through the meter."""
    quantum = QUANTUM_JOULES[component]
    return np.asarray(np.floor(energy / quantum) * quantum)


def noise_deviation(component: str, machine: Machine, interval: float = REFERENCE_SECONDS) -> float:
    """Return the standard deviation (W) of metered minus true mean power of a node in a scrape interval (s).

    Noise of n independent meters, plus the difference of two counter readings that are each cut to a whole
    quantum q: √(n·(σ²·15/t + q²/(6·t²))). Legacy Kepler's two modes are two counters; that doubles the last
    term, which is below 0.1 % of the first.
    """
    meters = 1 if component == "platform" else machine.sockets
    noise = NOISE_WATTS[component] ** 2 * REFERENCE_SECONDS / interval
    quantisation = QUANTUM_JOULES[component] ** 2 / (6 * interval**2)
    return math.sqrt(meters * (noise + quantisation))


def noise_floor(machine: Machine, interval: float = REFERENCE_SECONDS) -> dict[str, float]:
    """Return for each component the mean absolute error (W) of a perfect model: √(2/π) deviations."""
    return {name: math.sqrt(2 / math.pi) * noise_deviation(name, machine, interval) for name in COMPONENTS}
