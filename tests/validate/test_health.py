"""Timing, counters, clocks and power of series that a person can work out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from handmade import T0, at, meter, series
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.samples.meters import Meter
from kepler_train.samples.parquet import Series
from kepler_train.samples.schedule import Phase, Schedule
from kepler_train.validate.clock import clock_steps, steps_by_energy
from kepler_train.validate.metric_health import MetricHealth, MetricTally
from kepler_train.validate.node_health import node_health
from kepler_train.validate.phases import phase_samples
from kepler_train.validate.refresh import refresh_of
from kepler_train.validate.timing import find_gaps, median_scrape_interval

GRID = T0 + 15.0 * np.arange(200)


def health(*many: Series, counter: bool = True) -> MetricHealth:
    tally = MetricTally(counter=counter, exporter_pod=True)
    for one in many:
        tally.add(one)
    times = np.concatenate([one.times for one in many])
    return tally.health((times.min(), times.max()))


# ---- scrapes and gaps


@given(st.sets(st.integers(2, 197), max_size=80))
def test_gaps_are_the_runs_of_scrapes_that_were_taken_out(removed: set[int]) -> None:
    left = np.delete(GRID, sorted(removed))
    runs = sum(position - 1 not in removed for position in removed)
    if median_scrape_interval([at(left, left)]) != 15:
        return  # so many are missing that 15 s is not the usual distance any more
    gaps = find_gaps(left, 15.0, (GRID[0], GRID[-1]))
    assert gaps.count == runs
    assert gaps.missing_share == pytest.approx(len(removed) / 200)
    assert gaps.longest == pytest.approx(max(np.diff(left)) if runs else 0)


def test_late_scrapes_are_no_gaps() -> None:
    late = GRID + np.where(np.arange(200) % 3 == 0, 0.6 * 15, 0)
    assert median_scrape_interval([at(late, late)]) == pytest.approx(15, abs=0.1)
    assert find_gaps(late, 15.0, (late[0], late[-1])).count == 0


def test_a_window_without_scrapes_at_its_ends_has_gaps_there() -> None:
    gaps = find_gaps(GRID, 15.0, (T0 - 150, GRID[-1] + 10))
    assert (gaps.count, gaps.longest) == (1, 150)
    assert gaps.missing_share == pytest.approx(10 / 210)


def test_one_series_with_a_hole_is_no_gap_of_the_node() -> None:
    found = health(series(range(20), cpu="0"), at(np.delete(T0 + 15 * np.arange(20), [7, 8]), range(18), cpu="1"))
    assert (found.gaps, found.series_gaps, found.samples, found.series) == (0, 1, 38, 2)


# ---- counters


def test_falls_are_resets_of_counters_only() -> None:
    falling = [series([5, 9, 2, 4], a="1"), series([1, 0, 1, 0], a="2")]
    assert health(*falling).resets == 3
    assert health(*falling, counter=False).resets == 0


def test_a_new_series_that_starts_lower_is_no_reset() -> None:
    assert health(series([100, 110], a="1"), series([1, 2], a="2")).resets == 0


def test_what_is_not_a_number_is_counted_and_hides_nothing() -> None:
    found = health(series([5, np.nan, 2, np.inf, 3, -1, 4]))
    assert (found.not_finite, found.negative, found.resets, found.samples) == (2, 1, 2, 7)  # 5 → 2 and 3 → −1


def test_a_counter_that_stays_has_not_moved() -> None:
    assert not health(series([7, 7, 7], a="1"), series([9, 9], a="2")).moved
    assert health(series([7, 7, 7], a="1"), series([9, 9.5], a="2")).moved


# ---- refresh


@pytest.mark.parametrize("scrape", [1.0, 3.0, 5.0, 15.0])
@pytest.mark.parametrize("refresh", [1.0, 3.0, 5.0])
@pytest.mark.parametrize("phase", [0.0, 0.37])
def test_the_refresh_interval_is_found_or_bounded(scrape: float, refresh: float, phase: float) -> None:
    times = T0 + 10 + scrape * np.arange(400)
    found = refresh_of([at(times, meter(50, times, refresh, phase))], scrape)
    if refresh > scrape:
        assert not found.at_most
        assert found.interval == pytest.approx(refresh, rel=0.02)
    else:
        assert (found.interval, found.at_most) == (scrape, True)


@given(st.floats(2, 40), st.floats(0, 1), st.sets(st.integers(1, 598), max_size=30))
def test_any_refresh_is_found_through_lost_and_late_scrapes(refresh: float, phase: float, lost: set[int]) -> None:
    late = np.random.default_rng(0).uniform(0, 0.02, 600)
    times = np.delete(T0 + 50 + np.arange(600) + late, sorted(lost))
    found = refresh_of([at(times, meter(50, times, refresh, phase * refresh))], 1.0)
    assert found.interval == pytest.approx(refresh, rel=0.05)


def test_sockets_share_the_refresh_of_their_exporter() -> None:
    times = T0 + 3.0 * np.arange(300)
    busy = meter(90, times, 9.0)
    rare = np.floor(busy / 3000) * 3000  # so coarse that it changes every 33 s or so
    found = refresh_of([at(times, rare, package="0"), at(times, busy, package="1")], 3.0)
    assert found.interval == pytest.approx(9, rel=0.02)


def test_a_counter_that_sticks_shows_a_standstill_and_keeps_its_refresh() -> None:
    times = T0 + 5.0 * np.arange(400)
    moving = np.minimum(times, T0 + 1000) + np.maximum(times - (T0 + 1600), 0)  # 600 s at rest
    found = refresh_of([at(times, meter(50, moving, 10.0))], 5.0)
    assert found.interval == pytest.approx(10, rel=0.02)
    assert found.standstill == pytest.approx(610, abs=10)


def test_a_gap_is_no_standstill() -> None:
    times = np.concatenate([T0 + 5.0 * np.arange(100), T0 + 5000 + 5.0 * np.arange(100)])
    assert refresh_of([at(times, meter(50, times))], 5.0).standstill == 5


# ---- clocks


@pytest.mark.parametrize("seconds", [-7.0, -3.0, 2.0, 7.0])
def test_a_clock_that_is_set_shifts_the_scrapes_for_good(seconds: float) -> None:
    (step,) = clock_steps(np.where(np.arange(200) < 120, GRID, GRID + seconds), 15.0)
    assert step.time == GRID[120] + seconds
    assert step.seconds == pytest.approx(seconds)


def test_late_scrapes_and_gaps_are_no_clock_steps() -> None:
    rng = np.random.default_rng(5)
    late = np.round(GRID + (rng.random(200) < 1 / 3) * rng.uniform(0, 9, 200), 3)
    assert clock_steps(late, 15.0) == []
    assert clock_steps(np.delete(GRID, range(50, 90)), 15.0) == []
    assert clock_steps(np.sort(T0 + rng.uniform(0, 3000, 200)), 15.0) == []


@given(st.integers(25, 175), st.floats(2, 7), st.integers(0, 1000))
def test_one_step_among_late_scrapes_is_found_once(position: int, seconds: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    late = (rng.random(200) < 0.15) * rng.uniform(0, 6, 200)
    times = GRID + late + np.where(np.arange(200) < position, 0, seconds)
    found = clock_steps(times, 15.0)
    assert len(found) == 1
    assert found[0].seconds == pytest.approx(seconds, abs=0.8)
    assert abs(found[0].time - GRID[position]) < 150  # late scrapes blur the moment


def test_a_gap_that_the_meter_did_not_count_is_a_step_of_the_clock() -> None:
    stepped = np.where(np.arange(200) < 120, GRID, GRID + 300)  # whole intervals: the phase stays
    assert clock_steps(stepped, 15.0) == []
    (step,) = steps_by_energy([at(stepped, meter(80, GRID))], 15.0)
    assert step.time == stepped[120]
    assert step.seconds == pytest.approx(300)
    assert steps_by_energy([at(stepped, meter(80, stepped))], 15.0) == []  # a gap with its energy


def test_an_interval_with_the_energy_of_many_is_a_step_back() -> None:
    put_back = meter(80, np.where(np.arange(200) < 120, GRID, GRID + 300))
    (step,) = steps_by_energy([at(GRID, put_back), at(GRID, put_back / 20)], 15.0)
    assert (step.time, step.seconds) == (GRID[120], pytest.approx(-300))


def test_a_short_load_and_a_meter_that_catches_up_are_no_clock_steps() -> None:
    burst = np.cumsum(np.where(np.arange(200) == 120, 15 * 400.0, 15 * 40.0))
    memory = np.cumsum(np.where(np.arange(200) == 120, 15 * 9.0, 15 * 4.0))  # no load makes it draw ten times more
    assert steps_by_energy([at(GRID, burst), at(GRID, memory)], 15.0) == []
    long = T0 + 15.0 * np.arange(1000)
    stuck = meter(80, long)
    stuck[100:106] = stuck[100]  # the scrape after it shows the energy of six intervals
    assert steps_by_energy([at(long, stuck)], 15.0) == []


# ---- power


def package(*many: Series, component: str = "package", **sockets: list[Series]) -> Meter:
    return Meter("rapl-sysfs", component, f"kepler_node_{component}_joules_total", True, list(many), {"": list(many)})


def judged(*meters: Meter, schedule: Schedule | None = None):  # type: ignore[no-untyped-def]
    return node_health("node-0", meters, None, [], schedule or Schedule())


def test_power_is_the_mean_of_minutes() -> None:
    joules = np.concatenate([[0.0], np.cumsum(np.where(np.arange(199) < 100, 15 * 40.0, 15 * 100.0))])
    found = judged(package(at(GRID, joules))).meters["rapl-sysfs/package"]
    assert (found.power.least, found.power.most, found.power.seconds, found.power.windows) == (40, 100, 60, 49)
    assert found.power.mean == pytest.approx((25 * 40 + 24 * 100) / 49)
    assert found.too_much is None


def test_idle_and_dynamic_add_up_and_resets_and_gaps_are_left_out() -> None:
    idle, busy = meter(30, GRID), meter(12, GRID)
    busy[100:] -= busy[99] + 60  # restarted 5 s after scrape 99
    keep = np.delete(np.arange(200), [50, 51, 52])
    found = judged(package(at(GRID[keep], idle[keep]), at(GRID[keep], busy[keep])))
    power = found.meters["rapl-sysfs/package"].power
    assert (power.mean, power.least, power.most) == pytest.approx((42, 42, 42))
    assert found.resets == [GRID[100]]
    assert (found.intervals, found.complete) == (199, 199 - 4 - 1)


def test_too_many_watts_are_not_physical() -> None:
    kilojoules_read_as_joules = judged(package(at(GRID, 1000 * meter(60, GRID))))
    assert kilojoules_read_as_joules.meters["rapl-sysfs/package"].too_much == pytest.approx(60_000)
    assert judged(package(at(GRID, meter(700, GRID)), component="dram")).meters["rapl-sysfs/dram"].too_much
    assert judged(package(at(GRID, meter(700, GRID)))).meters["rapl-sysfs/package"].too_much is None


def test_core_and_uncore_lie_inside_the_package() -> None:
    def node(core: float, uncore: float) -> list[tuple[str, str, float]]:
        watts = {"package": 50.0, "core": core, "uncore": uncore}
        return judged(*(package(at(GRID, meter(w, GRID)), component=c) for c, w in watts.items())).above_whole

    assert node(30, 15) == []
    assert node(40, 20) == [("package", "core + uncore", 1.0)]


def test_counters_that_never_move_make_a_node_unusable() -> None:
    found = judged(package(at(GRID, np.full(200, 7.0))))
    assert "never move" in found.unusable
    assert (
        judged(package(at(GRID, np.full(200, 7.0)), component="uncore"), package(at(GRID, meter(9, GRID)))).unusable
        == ""
    )


def test_too_few_scrapes_and_gaps_everywhere_make_a_node_unusable() -> None:
    assert "3 scrapes" in judged(package(at(GRID[:3], [0, 1, 2]))).unusable
    pairs = np.concatenate([[T0 + 600 * n, T0 + 600 * n + 15] for n in range(2)])
    assert "leave 2 of 41" in judged(package(at(pairs, meter(40, pairs)))).unusable


# ---- phases


def test_a_phase_counts_the_whole_intervals_inside_it() -> None:
    begin = datetime.fromtimestamp(T0, UTC)

    def phase(name: str, start: float, end: float, **more: str) -> Phase:
        at = {"start": begin + timedelta(seconds=start), "end": begin + timedelta(seconds=end)}
        return Phase.model_validate({"name": name, "load": "cpu", **at, **more})

    schedule = Schedule.model_validate(
        {
            "phases": [
                phase("long", 1, 75),  # scrapes at 15, 30, 45, 60, 75
                phase("short", 80, 130),  # 90, 105, 120
                phase("broken", 200, 300),  # 210 … 300, of which two are lost
                phase("after", 9000, 9100),
                phase("elsewhere", 1, 75, node="node-1"),
                phase("failed", 1, 75, status="failed"),
            ]
        }
    )
    scrapes = np.delete(GRID, [16, 18])  # at 240 and 270 s
    found = phase_samples(schedule, "node-0", scrapes, 15.0)
    assert {one.name: (one.intervals, one.enough) for one in found} == {
        "long": (4, True),
        "short": (2, False),
        "broken": (2, False),
        "after": (0, False),
    }
