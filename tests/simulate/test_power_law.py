"""The law itself, with numbers a person can check by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train.simulate.activity import Drivers, make_containers
from kepler_train.simulate.machine import COMPONENTS, Machine
from kepler_train.simulate.meter import noise_floor
from kepler_train.simulate.node import Scenario, run_node
from kepler_train.simulate.power import true_dynamic_power
from kepler_train.simulate.schedule import make_schedule
from kepler_train.simulate.workloads import STRESS_LOADS, blend


def on_one_socket(busy: float, instructions: float, misses: float) -> Drivers:
    return Drivers(*(np.array([[value]]) for value in (busy, instructions, misses)))


def test_one_core_of_pure_arithmetic_at_2_ghz() -> None:
    watts = true_dynamic_power(on_one_socket(busy=1, instructions=4, misses=0), np.array([2.0]))
    core = 0.85**2 * (0.9 * 1 * 2 + 0.9 * 4)  # V(2 GHz) = 0.85 V
    uncore = 5 * (1 - math.exp(-0.5))
    package = core + uncore + 0.0015 * core**2
    assert watts["core"].item() == pytest.approx(core) == pytest.approx(3.9015)
    assert watts["package"].item() == pytest.approx(package)
    assert watts["dram"].item() == 0
    assert watts["platform"].item() == pytest.approx(1.08 * package + 0.0006 * package**2)


def test_400_million_misses_a_second_draw_half_of_what_they_would_without_saturation() -> None:
    watts = true_dynamic_power(on_one_socket(busy=0, instructions=0, misses=400), np.array([2.0]))
    assert watts["dram"].item() == pytest.approx(0.05 * 400 / 2)


def test_a_machine_where_nothing_runs_draws_its_idle_power() -> None:
    watts = true_dynamic_power(on_one_socket(0, 0, 0), np.array([1.2]))
    assert [watts[name].item() for name in COMPONENTS] == [0, 0, 0, 0, 0]
    assert Machine(sockets=2).idle("package") == 28
    assert Machine(sockets=2).idle("platform") == 48 + 28 + 5


def test_twice_the_frequency_costs_more_than_twice_the_core_power() -> None:
    slow = true_dynamic_power(on_one_socket(4, 4 * 1.6 * 2, 0), np.array([1.6]))["core"].item()
    fast = true_dynamic_power(on_one_socket(4, 4 * 3.2 * 2, 0), np.array([3.2]))["core"].item()
    assert fast / slow == pytest.approx(2 * (1.0 / 0.8) ** 2)  # V(1.6) = 0.8 V, V(3.2) = 1 V


def test_the_governor_steps_down_as_more_cores_share_the_heat() -> None:
    machine = Machine(sockets=2, cores_per_socket=8)
    assert [machine.governed_mhz(n) for n in (0, 1, 2, 4, 8, 16)] == [1200, 3600, 3600, 3200, 2800, 2400]
    assert machine.sweep_mhz() == (2000, 2800, 3600)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sockets=st.integers(1, 4),
    sweep=st.booleans(),
    containers=st.integers(4, 20),
)
def test_true_container_power_adds_up_to_the_dynamic_power_of_the_node(
    seed: int, sockets: int, sweep: bool, containers: int
) -> None:
    run = run_node(
        Scenario(
            start=0, duration=3600, seed=seed, containers=containers, sweep=sweep, phase=120, idle=60,
            machine=Machine(sockets=sockets, cores_per_socket=4),
        )
    )  # fmt: skip
    for component in COMPONENTS:
        total = np.zeros(len(run.busy))
        for done in run.containers:
            assert np.all(done.watts[component] >= 0)
            total[done.container.first : done.container.last] += done.watts[component]
        np.testing.assert_allclose(total, run.dynamic_watts[component], rtol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), tick=st.sampled_from([1.0, 3.0, 15.0]))
def test_counters_conserve_the_integral_of_rates(seed: int, tick: float) -> None:
    run = run_node(Scenario(start=0, duration=1800, seed=seed, scrape=tick, phase=300, idle=300))
    total_ms = sum(done.counters["bpf_cpu_time_ms"][-1] for done in run.containers)
    assert total_ms == pytest.approx(1000 * tick * run.busy.sum())
    for done in run.containers:
        cycles, instructions = done.counters["cpu_cycles"], done.counters["cpu_instructions"]
        assert cycles[0] == 0
        assert np.all(np.diff(cycles) >= 0)
        assert np.all(np.diff(instructions) <= np.diff(cycles) * done.container.workload.ipc * (1 + 1e-9))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), at_once=st.integers(4, 16))
def test_never_more_containers_than_asked_for_and_never_more_work_than_cores(seed: int, at_once: int) -> None:
    machine, rng = Machine(sockets=1, cores_per_socket=4), np.random.default_rng(seed)
    phases = make_schedule(machine, 1000, rng)
    alive, busy = np.zeros(1000), np.zeros(1000)
    for c in make_containers(machine, phases, 1000, at_once, 15.0, rng):
        alive[c.first : c.last] += 1
        busy[c.first : c.last] += c.busy
        assert sum(c.shares) == pytest.approx(1)
    assert alive.max() <= at_once
    assert busy.max() <= machine.cores + 1e-9


def test_the_noise_floor_is_what_a_perfect_model_gets() -> None:
    run = run_node(Scenario(start=0, duration=2 * 86400))
    floor = noise_floor(run.machine, 15)
    for component in COMPONENTS:
        error = np.abs(run.metered_watts(component) - run.true_watts(component)).mean()
        assert error == pytest.approx(floor[component], rel=0.03)
    assert floor["package"] == pytest.approx(math.sqrt(2 / math.pi) * math.sqrt(2) * 0.8, rel=1e-3)


def test_over_a_minute_the_noise_is_half_of_that_over_15_seconds() -> None:
    machine = Machine()
    assert noise_floor(machine, 60)["package"] == pytest.approx(noise_floor(machine, 15)["package"] / 2, rel=1e-3)


def test_energy_is_read_in_whole_joules_by_the_board_sensor() -> None:
    run = run_node(Scenario(start=0, duration=3600))
    joules = run.metered_watts("platform") * run.tick
    np.testing.assert_allclose(joules, np.round(joules), atol=1e-6)


def test_two_mixes_on_the_same_cpus_retire_the_instructions_of_both() -> None:
    cpu, cache = STRESS_LOADS["cpu"], STRESS_LOADS["cache"]
    both = blend("both", {cpu: 3.0, cache: 1.0})
    assert both.ipc == pytest.approx(0.75 * 2.4 + 0.25 * 0.55)
    assert both.ipc * both.misses == pytest.approx(0.75 * 2.4 * 20 + 0.25 * 0.55 * 18_000)


def test_page_cache_hits_per_cpu_second_tell_the_loads_apart() -> None:
    per_gigacycle = sorted(load.ipc * load.hits * 1000 for load in STRESS_LOADS.values())
    ratios = [b / a for a, b in pairwise(per_gigacycle)]
    assert min(ratios) > 2
