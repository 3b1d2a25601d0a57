"""Energy and work that were read at different moments, and the lag between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kepler_train.extract.meter_lag import UNKNOWN_LAG, MeterLag, estimate_lag, shift_counter
from kepler_train.simulate.history import exported
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.simulate.store import SampleStore, store_of

START = 1_794_614_400.0
ENERGY = {
    "legacy": ("kepler_node_{}_joules_total", ["package", "dram"]),
    "current": ("kepler_node_cpu_joules_total", []),
}
WORK = {
    "legacy": [f"kepler_container_{name}_total" for name in ("bpf_cpu_time_ms", "cpu_cycles", "cache_miss")],
    "current": ["kepler_process_cpu_seconds_total"],
}


def busy_seconds(moments: np.ndarray, seed: int = 0) -> np.ndarray:
    """CPU time of one core that works for 40 to 80 s, then rests as long, again and again."""
    lengths = np.random.default_rng(seed).uniform(40, 80, 400)
    ends = START - 100 + np.cumsum(lengths)
    worked = np.cumsum(lengths * (np.arange(400) % 2 == 0))
    return np.interp(moments, ends, worked)


def recording(lag: float, scrapes: int = 700, every: float = 5.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scrapes, energy of 20 W and 10 W more per busy core (J), and CPU time read `lag` seconds before (s)."""
    times = START + every * np.arange(scrapes)
    energy = 20 * (times - START) + 10 * busy_seconds(times)
    return times, energy, busy_seconds(times - lag)


def simulated(
    scrape: float, skew: float, dialect: str, seed: int = 0, refresh: float = 0.0, faults: tuple[str, ...] = ()
) -> MeterLag:
    """The lag found in what a simulated node exports, all of its containers added up."""
    asked = Scenario(
        START, 900 * scrape, scrape, seed=seed, containers=5, phase=15 * scrape, idle=8 * scrape, refresh=refresh,
        skew=skew * scrape,
    )  # fmt: skip
    store = store_of(exported(run_nodes(asked), dialect, ["rapl-sysfs"], frozenset(faults), seed=1))
    times = store.select([], "kepler_node_cpu_usage_ratio" if dialect == "current" else "kepler_node_node_info")[
        0
    ].times
    name, components = ENERGY[dialect]
    if dialect == "legacy":
        energy = [added(store, name.format(component), times) for component in components]
    else:
        energy = [s.values for s in store.select([("zone", lambda zone: zone in ("package", "dram"))], name)]
    return estimate_lag(times / 1000, energy, [added(store, metric, times) for metric in WORK[dialect]], refresh)


def added(store: SampleStore, metric: str, times: np.ndarray) -> np.ndarray:
    """All series of a metric as one counter: 0 before a series begins, its last value after it ends."""
    found = store.select([], metric)
    assert found
    return np.sum([np.interp(times, s.times, s.values, left=0.0) for s in found], axis=0)


def test_a_shifted_counter_is_the_counter_some_seconds_before() -> None:
    times, joules = np.array([0.0, 10, 20, 30]), np.array([0.0, 100, 300, 600])
    np.testing.assert_array_equal(shift_counter(times, joules, 5), [np.nan, 50, 200, 450])
    np.testing.assert_array_equal(shift_counter(times, joules, -5), [50, 200, 450, np.nan])
    np.testing.assert_array_equal(shift_counter(times, joules, 10), [np.nan, 0, 100, 300])
    np.testing.assert_array_equal(shift_counter(times, joules, 0), joules)


@given(
    arrays.arrays(np.float64, st.integers(5, 40), elements=st.floats(0, 1e6)),
    arrays.arrays(np.float64, 40, elements=st.floats(0.5, 20)),
    st.floats(-1.5, 1.5),
)
def test_shifting_conserves_the_total_but_for_the_two_ends(
    gained: np.ndarray, steps: np.ndarray, windows: float
) -> None:
    times = np.cumsum(steps[: len(gained)])
    counter, lag = np.cumsum(gained), windows * steps[: len(gained)].min()
    moved = shift_counter(times, counter, lag)
    kept = np.flatnonzero(np.isfinite(moved))
    assert len(times) - len(kept) <= 2
    before, after = np.interp(times[kept[[0, -1]]] - lag, times, counter)
    assert np.diff(moved[kept]).sum() == pytest.approx(after - before, abs=1e-6 * counter[-1] + 1e-9)
    assert np.all(np.diff(moved[kept]) >= -1e-9 * counter[-1])


@pytest.mark.parametrize("lag", [2.0, -2.0, 1.0, 4.0, 7.5])
def test_the_lag_of_counters_made_by_hand_is_found(lag: float) -> None:
    times, energy, work = recording(lag)
    found = estimate_lag(times, [energy], [work])
    assert found.significant
    assert found.seconds == pytest.approx(lag, abs=0.25)  # a twentieth of a scrape
    assert found.error < 0.25
    assert found.gain > (0.9 if abs(lag) > 1 else 0.7)


def test_no_lag_is_found_where_there_is_none() -> None:
    times, energy, work = recording(0)
    found = estimate_lag(times, [energy], [work])
    assert not found.significant
    assert found.seconds == pytest.approx(0, abs=0.1)


def test_counters_brought_together_have_no_lag_left() -> None:
    times, energy, work = recording(3)
    lag = estimate_lag(times, [energy], [work]).seconds
    for together in ((shift_counter(times, energy, lag), work), (energy, shift_counter(times, work, -lag))):
        left = estimate_lag(times, [together[0]], [together[1]])
        assert not left.significant
        assert left.seconds == pytest.approx(0, abs=0.25)


def test_gaps_resets_and_unknown_values_are_left_out() -> None:
    times, energy, work = recording(2)
    energy[300:] -= energy[299]  # the meter began again at 0
    work[450:460] = np.nan
    kept = (np.arange(len(times)) < 100) | (np.arange(len(times)) > 160)  # five minutes without a scrape
    found = estimate_lag(times[kept], [energy[kept]], [work[kept]])
    assert found.significant
    assert found.seconds == pytest.approx(2, abs=0.25)


def test_several_meters_have_one_lag_and_one_that_stands_still_has_no_say() -> None:
    times, energy, work = recording(2)
    other = 5 * (times - START) + 3 * busy_seconds(times)
    found = estimate_lag(times, [energy, other, np.zeros(len(times))], [work, np.full(len(times), 7.0)])
    assert found.seconds == pytest.approx(2, abs=0.25)
    assert found.significant


def test_a_load_that_never_changes_tells_nothing() -> None:
    times, _, _ = recording(2)
    noise = np.random.default_rng(1).normal(0, 1, (2, len(times)))
    energy = np.cumsum(100 + noise[0])
    assert estimate_lag(times, [energy], [0.5 * (times - START)]) == UNKNOWN_LAG
    assert not estimate_lag(times, [energy], [np.cumsum(3 + 0.1 * noise[1])]).significant


def test_one_change_of_load_is_not_enough() -> None:
    times = START + 5.0 * np.arange(400)
    worked = np.maximum(times - START - 1000, 0)
    energy = 20 * (times - START) + 10 * worked + np.cumsum(np.random.default_rng(2).normal(0, 1, 400))
    assert not estimate_lag(times, [energy], [np.maximum(worked - 2, 0)]).significant


@pytest.mark.parametrize("scrapes", [0, 1, 3, 30])
def test_too_few_scrapes_tell_nothing(scrapes: int) -> None:
    times, energy, work = recording(2, scrapes)
    assert estimate_lag(times, [energy], [work]) == UNKNOWN_LAG


def test_nothing_known_tells_nothing() -> None:
    times, energy, work = recording(2)
    unknown = np.full(len(times), np.nan)
    assert estimate_lag(times, [unknown], [work]) == UNKNOWN_LAG
    assert estimate_lag(times, [energy], [unknown]) == UNKNOWN_LAG
    assert estimate_lag(times, [energy], []) == UNKNOWN_LAG
    assert estimate_lag(times, [], [work]) == UNKNOWN_LAG


def test_a_long_recording_is_judged_by_the_parts_in_which_power_changes() -> None:
    times = START + 5.0 * np.arange(60_000)  # three and a half days, of which half a day has load
    energy = 20 * (times - START) + 10 * busy_seconds(times)
    found = estimate_lag(times, [energy], [busy_seconds(times - 2)])
    assert found.significant
    assert found.seconds == pytest.approx(2, abs=0.25)


@pytest.mark.parametrize("skew", [0.4, -0.4])
@pytest.mark.parametrize("scrape", [3.0, 5.0, 15.0])
@pytest.mark.parametrize("dialect", ["legacy", "current"])
def test_the_skew_of_a_simulated_exporter_is_found_to_a_tenth_of_a_scrape(
    dialect: str, scrape: float, skew: float
) -> None:
    found = simulated(scrape, skew, dialect)
    assert found.significant
    assert found.seconds / scrape == pytest.approx(skew, abs=0.1)
    assert found.gain > 0.05


@pytest.mark.parametrize("refresh", [3.0, 5.0])
def test_a_refresh_out_of_step_with_the_scrapes_does_not_hide_the_skew(refresh: float) -> None:
    scrape = 8 - refresh  # 5 and 3: a scrape sees one or two refreshes, or one or none
    assert simulated(scrape, 0.8, "legacy", refresh=refresh).seconds / scrape == pytest.approx(0.8, abs=0.15)


@pytest.mark.parametrize("dialect", ["legacy", "current"])
def test_exporters_without_a_skew_raise_no_alarm(dialect: str) -> None:
    for seed in range(8):
        scrape, refresh = ((3.0, 0.0), (15.0, 5.0), (5.0, 3.0), (15.0, 0.0))[seed % 4]
        faults = ("late",) if seed % 2 else ("gap", "restart")
        found = simulated(scrape, 0.0, dialect, seed, refresh, faults)
        assert not found.significant, (seed, found)


def bent(shape: str, exponent: float, lag: float, seed: int) -> MeterLag:
    """The lag found where power is 20 W + 80 W · load^exponent, scraped every 5 s."""
    chance = np.random.default_rng(seed)
    lengths = chance.integers(40, 160, 60)
    if shape == "saw":  # it comes slowly and goes at once
        load = np.concatenate([np.linspace(0.05, 0.95, length) for length in lengths])
    else:
        load = np.repeat(chance.uniform(0, 1, len(lengths)), lengths)
    load = np.clip(load[:3700] + chance.normal(0, 0.02, 3700), 0, 1)
    seconds = np.arange(3701.0)
    worked = np.concatenate([[0.0], np.cumsum(load)])
    energy = np.concatenate([[0.0], np.cumsum(20 + 80 * load**exponent + chance.normal(0, 1, 3700))])
    times = 100 + 5.0 * np.arange(700)
    return estimate_lag(times, [np.interp(times, seconds, energy)], [np.interp(times - lag, seconds, worked)])


@pytest.mark.parametrize("exponent", [0.3, 0.5, 2.0, 3.0, 4.0])
def test_a_bent_law_and_loads_that_come_slowly_and_go_at_once_are_no_lag(exponent: float) -> None:
    assert not any(bent("saw", exponent, 0.0, seed).significant for seed in range(3))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0, 3.0])
def test_a_lag_is_found_though_the_law_is_bent(exponent: float) -> None:
    for lag in (2.0, -2.0):
        found = bent("steps", exponent, lag, seed=1)
        assert found.significant
        assert found.seconds == pytest.approx(lag, abs=0.25)
