"""The default history can be learnt: two BPF features are enough to come near the meter's noise."""

from __future__ import annotations

import numpy as np
import xgboost

from kepler_train.simulate.meter import noise_floor
from kepler_train.simulate.node import NodeRun, Scenario, run_node


def node_rates(run: NodeRun, features: list[str]) -> np.ndarray:
    rates = np.zeros((len(run.busy), len(features)))
    for done in run.containers:
        life = slice(done.container.first, done.container.last)
        for column, feature in enumerate(features):
            rates[life, column] += np.diff(np.floor(done.counters[feature])) / run.tick
    return rates


def blocked_error(X: np.ndarray, metered: np.ndarray, blocks: int = 5) -> float:
    """Mean absolute error (W) where each contiguous block of time is predicted from the others."""
    block = np.arange(len(X)) * blocks // len(X)
    predicted = np.zeros(len(X))
    for left_out in range(blocks):
        test = block == left_out
        # One thread: on a busy machine OpenMP threads wait for each other, and a second becomes half a minute.
        rows = xgboost.QuantileDMatrix(X[~test], metered[~test], nthread=1)
        model = xgboost.train({"learning_rate": 0.1, "tree_method": "hist", "nthread": 1}, rows, num_boost_round=100)
        predicted[test] = model.inplace_predict(X[test])
    return float(np.abs(predicted - metered).mean())


def test_boosted_trees_on_two_bpf_features_come_within_a_quarter_of_the_noise_floor() -> None:
    run = run_node(Scenario(start=1_794_614_400, duration=2 * 86400))
    X = node_rates(run, ["bpf_cpu_time_ms", "bpf_page_cache_hit"])
    floor = noise_floor(run.machine, run.tick)
    for component in ("package", "dram"):
        error = blocked_error(X, run.metered_watts(component))
        print(f"{component}: blocked error {error:.3f} W, noise floor {floor[component]:.3f} W")
        assert floor[component] * 0.97 < error < floor[component] * 1.25


def test_cpu_time_alone_does_not_know_the_instruction_mix() -> None:
    run = run_node(Scenario(start=1_794_614_400, duration=2 * 86400))
    error = blocked_error(node_rates(run, ["bpf_cpu_time_ms"]), run.metered_watts("package"))
    assert error > 3 * noise_floor(run.machine, run.tick)["package"]
