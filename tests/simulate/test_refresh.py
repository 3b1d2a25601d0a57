"""What a scrape shows was read earlier: at the exporter's last refresh, work a little before energy."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kepler_train.cli.app import app
from kepler_train.errors import UserError
from kepler_train.simulate import exporter as exporter_module
from kepler_train.simulate.exporter import Exporter
from kepler_train.simulate.history import exported
from kepler_train.simulate.live import HostNode, SimulatedNode
from kepler_train.simulate.node import NodeRun, Scenario, run_node, run_nodes
from kepler_train.simulate.reading import SAME, Reading
from kepler_train.simulate.store import SampleStore, StoredSeries, read_store, store_of

START = 1_794_614_400.0
PACKAGE = "kepler_node_package_joules_total"
CYCLES = "kepler_container_cpu_cycles_total"


def hour(scrape: float, refresh: float = 0.0, skew: float = 0.0, nodes: int = 1) -> list[NodeRun]:
    asked = Scenario(START, 3600, scrape, seed=3, nodes=nodes, containers=6, phase=200, idle=100)
    return run_nodes(Scenario(**{**vars(asked), "refresh": refresh, "skew": skew}))


def stored(runs: list[NodeRun], *faults: str, dialect: str = "legacy") -> SampleStore:
    return store_of(exported(runs, dialect, ["rapl-sysfs"], frozenset(faults), seed=7))


def last_refresh(run: NodeRun, series: StoredSeries) -> np.ndarray:
    """Counted by hand: the clock of the exporter starts at its phase."""
    clock = run.phase + run.refresh * np.arange(-10, 3700 / run.refresh)
    return clock[np.searchsorted(clock, series.times / 1000, "right") - 1]


def joules(store: SampleStore, node: str = "node-0") -> tuple[StoredSeries, np.ndarray]:
    """A series of the package's energy, and the energy of all sockets and modes (J)."""
    found = store.select([("instance", lambda value: value == node)], PACKAGE)
    return found[0], np.sum([s.values for s in found], axis=0)


@pytest.mark.parametrize("refresh", [1.0, 3.0, 5.0])
@pytest.mark.parametrize("scrape", [1.0, 3.0, 5.0, 15.0, 30.0])
def test_every_counter_of_a_scrape_is_as_of_the_last_refresh(scrape: float, refresh: float) -> None:
    (run,) = runs = hour(scrape, refresh)
    store = stored(runs)
    series, energy = joules(store)
    read = last_refresh(run, series)
    age = series.times / 1000 - read
    assert age.min() >= 0
    assert age.max() < refresh
    assert len(energy) >= 3600 / scrape - 2 * refresh / scrape - 2
    # Two sockets and two modes, each cut to whole millijoules.
    assert energy == pytest.approx(np.interp(read, run.edges, run.energy["package"].sum(axis=0)), abs=0.005)
    etcd = next(done for done in run.containers if done.container.pod == "etcd")
    (cycles,) = store.select([("pod_name", lambda value: value == "etcd")], CYCLES)
    assert cycles.values == pytest.approx(np.interp(read, run.edges, etcd.counters["cpu_cycles"]), rel=1e-9, abs=2)


def test_scrapes_between_two_refreshes_show_the_same_values() -> None:
    _, energy = joules(stored(hour(scrape=1, refresh=5)))
    moved = np.flatnonzero(np.diff(energy))
    assert set(np.diff(moved)) == {5}  # four scrapes in five see nothing new
    assert np.diff(energy)[moved].min() > 5 * 2 * 14 * 0.8  # J: two idle sockets of 14 W, less noise


def test_the_clock_of_an_exporter_is_its_own_and_the_same_every_time() -> None:
    first, second = hour(scrape=5, refresh=5, nodes=2)
    assert [run.phase for run in hour(scrape=5, refresh=5, nodes=2)] == [first.phase, second.phase]
    offsets = [(run.phase - run.edges[0]) % 5 for run in (first, second)]
    assert offsets[0] != offsets[1]
    assert all(0.4 < offset < 4.6 for offset in offsets)  # never in step with the scrapes


def test_a_refresh_shorter_than_the_scrape_interval_sees_the_load_change_within_it() -> None:
    (run,) = hour(scrape=15, refresh=5)
    assert (run.tick, run.scrape) == (5, 15)
    assert len(run.edges) == 721
    assert run.scrape_edges.tolist() == (START + 15 * np.arange(241)).tolist()


@pytest.mark.parametrize("skew", [2.0, -2.0])
def test_energy_and_work_are_read_a_skew_apart_the_later_one_at_the_scrape(skew: float) -> None:
    (run,) = runs = hour(scrape=5, skew=skew)
    store = stored(runs)
    series, energy = joules(store)
    times = series.times / 1000
    metered = run.energy["package"].sum(axis=0)
    assert energy == pytest.approx(np.interp(times - max(-skew, 0), run.edges, metered), abs=0.005)
    etcd = next(done for done in run.containers if done.container.pod == "etcd")
    (cycles,) = store.select([("pod_name", lambda value: value == "etcd")], CYCLES)
    worked = np.interp(times - max(skew, 0), run.edges, etcd.counters["cpu_cycles"])
    assert cycles.values == pytest.approx(worked, rel=1e-9, abs=2)


def test_the_fault_is_a_skew_of_two_fifths_of_the_scrape_interval() -> None:
    (run,) = runs = hour(scrape=15)
    (plain,) = stored(runs).select([("pod_name", lambda value: value == "etcd")], CYCLES)
    (late,) = stored(runs, "skew").select([("pod_name", lambda value: value == "etcd")], CYCLES)
    expected = np.interp(late.times / 1000 - 6, plain.times / 1000, plain.values)
    assert late.values == pytest.approx(expected, rel=1e-9, abs=2)
    assert run.skew == 0  # the truth does not know


@pytest.mark.parametrize(
    ("scrape", "refresh", "skew"), [(1, 5, 0), (5, 3, 0), (15, 1, 0), (15, 0, 6), (3, 0, 1.2), (3, 5, 1)]
)
def test_the_last_work_of_a_container_that_ended_is_shown_once_it_has_ended(
    scrape: float, refresh: float, skew: float
) -> None:
    (run,) = runs = hour(scrape, refresh, skew)
    shown = {s.labels["container_id"]: s for s in stored(runs).select([], CYCLES)}
    ended = [done for done in run.containers if 60 / run.tick < done.container.last < len(run.edges) - 60 / run.tick]
    assert len(ended) > 5
    for done in ended:
        series, end = shown[done.container.container_id], run.edges[done.container.last]
        assert series.values[-1] == np.floor(done.counters["cpu_cycles"][-1])
        assert 0 <= series.times[-1] / 1000 - end <= scrape + 2 * refresh + skew


def test_a_container_that_ended_is_terminated_in_the_next_snapshot_only() -> None:
    for scrape, refresh, scrapes in ((15, 5, 1), (1, 5, 5)):
        store = stored(hour(scrape, refresh), dialect="current")
        family = "kepler_container_cpu_joules_total"
        gone = store.select([("state", lambda value: value == "terminated")], family)
        assert gone
        for series in gone:
            same = [(k, lambda value, want=series.labels[k]: value == want) for k in ("container_id", "zone")]
            (running,) = store.select([*same, ("state", lambda value: value == "running")], family)
            assert len(series.times) == scrapes  # all scrapes of one refresh
            assert series.times[0] - running.times[-1] == 1000 * scrape
            assert set(series.values) == {running.values[-1]}


def test_a_gauge_tells_the_mean_since_the_refresh_before() -> None:
    (run,) = runs = hour(scrape=15, refresh=3)
    store = stored(runs, dialect="current")
    (usage,) = store.select([], "kepler_node_cpu_usage_ratio")
    read = last_refresh(run, usage)
    busy = np.concatenate([[0.0], np.cumsum(run.usage * np.diff(run.edges))])  # s, of all CPUs together
    mean = (np.interp(read, run.edges, busy) - np.interp(read - 3, run.edges, busy)) / 3
    assert usage.values == pytest.approx(mean, abs=1e-6)


def test_after_a_restart_nothing_is_shown_before_the_first_refresh() -> None:
    series, energy = joules(stored(hour(scrape=1, refresh=5), "restart"))
    times = series.times / 1000
    falls = np.flatnonzero(np.diff(energy) < 0)
    assert len(falls) == 2
    for fall in falls:
        assert times[fall + 1] - times[fall] > 2  # two scrapes are missing at least
        assert energy[fall + 1] < 5 * 300  # J: at most one refresh of the whole node
    assert np.sum(np.diff(times) > 1.5) == 2


def test_an_exporter_that_reads_at_the_scrape_is_one_with_a_clock_of_no_length() -> None:
    at = np.array([10.0, 12.5])
    assert Reading().work(at).tolist() == Reading().energy(at).tolist() == at.tolist()
    every = Reading(refresh=5, phase=1, skew=2, interval=15, origin=0)
    assert every.energy(at).tolist() == [6, 11]
    assert every.work(at).tolist() == [4, 9]
    assert every.first_from(4.5) == 9  # of the refresh at 11, which the scrape at 15 shows
    assert every.first_from(9.0 + 2 * SAME) == 24  # the scrape at 30 shows the refresh at 26


def test_a_live_exporter_shows_its_last_refresh(monkeypatch: pytest.MonkeyPatch) -> None:
    node = SimulatedNode(Scenario(start=time.time() - 1000, duration=7200, scrape=5.0, refresh=5.0), "box")
    exporter = Exporter(node, "legacy", ["rapl-sysfs"], frozenset())
    run = node.run()
    texts = []
    for after in (0.1, 4.9, 5.1):
        monkeypatch.setattr(exporter_module.time, "time", lambda now=run.phase + 500 + after: now)
        texts.append(exporter.text())
    assert texts[0] == texts[1] != texts[2]
    assert PACKAGE in texts[0]


def test_this_machine_too_is_shown_as_it_was_at_the_last_refresh() -> None:
    node = HostNode("box")
    node.keep_reading(refresh=600)
    before = node.run()
    time.sleep(0.25)  # longer than the shortest time between two readings
    assert node.run() is before
    fresh = HostNode("box")
    before = fresh.run()
    time.sleep(0.25)
    assert fresh.run() is not before


def test_the_command_line_takes_refresh_and_skew(tmp_path: Path) -> None:
    out = tmp_path / "h.om"
    arguments = ["--duration", "1h", "--start", "2026-11-14T00:00:00Z", "--refresh", "5", "--skew", "2", "--seed", "3"]
    done = CliRunner().invoke(app, ["simulate", "history", "--out", str(out), "--containers", "6", *arguments])
    assert done.exit_code == 0, done.output
    run = run_node(Scenario(START, 3600, seed=3, containers=6, refresh=5, skew=2))
    series, energy = joules(read_store(out))
    metered = run.energy["package"].sum(axis=0)
    assert energy == pytest.approx(np.interp(last_refresh(run, series), run.edges, metered), abs=0.005)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["history", "--out", "h.om", "--refresh", "-1"], "--refresh -1 is out of range"),
        (["history", "--out", "h.om", "--skew", "16"], "--skew 16 is out of range: give at most one scrape interval"),
        (["history", "--out", "h.om", "--refresh", "nan"], "--refresh nan is out of range"),
        (["node", "--meter", "host", "--skew", "1"], "use --meter sim for a skew"),
        (["node", "--meter", "host", "--refresh", "0.01"], "--refresh 0.01 is out of range"),
    ],
)
def test_what_no_exporter_does_is_refused(arguments: list[str], sentence: str) -> None:
    done = CliRunner().invoke(app, ["simulate", *arguments])
    assert isinstance(done.exception, UserError)
    assert sentence in str(done.exception)
