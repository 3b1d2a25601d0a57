"""Rows of a simulated node straight from the simulation: a window per tick, labelled with its load."""

from __future__ import annotations

import numpy as np
import pandas as pd

from kepler_train.simulate.node import Scenario, run_node

START = 1_794_614_400.0  # 2026-11-14T00:00:00Z
COUNTERS = ["cache_miss", "cpu_cycles", "cpu_instructions"]


def simulated_rows(hours: float, seed: int) -> pd.DataFrame:
    """Rates (1/s) of all containers together, and the metered power (W) of `package` and `dram`."""
    run = run_node(Scenario(start=START, duration=3600 * hours, seed=seed, containers=6, phase=300, idle=120))
    rates = {name: np.zeros(len(run.busy)) for name in COUNTERS}
    for done in run.containers:
        life = slice(done.container.first, done.container.last)
        for name in COUNTERS:
            rates[name][life] += np.diff(np.floor(done.counters[name])) / run.tick
    loads = np.empty(len(run.busy), dtype=object)
    for phase in run.phases:
        loads[phase.first : phase.last] = phase.load
    times = pd.to_datetime(run.edges[1:], unit="s", utc=True)
    power = {name: run.metered_watts(name) for name in ("package", "dram")}
    return pd.DataFrame({"time": times, "node": "a", "workload": loads} | rates | power)
