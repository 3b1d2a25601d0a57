"""Recordings of simulated nodes with any mix of faults, extracted, and set beside what really happened.

`python tests/extract/cells.py` goes through the whole grid and prints the worst window of every cell that fails.
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.extract.node_extraction import NodeExtraction, extractions
from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import schema, table
from kepler_train.samples.schedule import Schedule
from kepler_train.simulate.history import exported
from kepler_train.simulate.machine import Machine
from kepler_train.simulate.meter import QUANTUM_JOULES
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes
from kepler_train.simulate.processes import processes
from kepler_train.simulate.series import Metric, Scrapes
from kepler_train.spec import RunSpec

START = 1_794_614_400.0  # 2026-11-14T00:00:00Z
HOUR = 3600.0
LATE = 1.75  # a step of more scrape intervals is a gap

AXES = {
    "reset": (False, True),
    "gap": (False, True),
    "restart": (False, True),
    "churn": (False, True),
    "nodes": (1, 2),
    "packages": (1, 2),
    "scrape": (1.0, 3.0, 5.0, 15.0, 30.0),
    "refresh": (1.0, 3.0, 5.0),
    "dialect": ("legacy", "current"),
}


@dataclass(frozen=True)
class Cell:
    """One combination of the grid; times in seconds."""

    reset: bool
    gap: bool
    restart: bool
    churn: bool
    nodes: int
    packages: int
    scrape: float
    refresh: float
    dialect: str

    @property
    def faults(self) -> frozenset[str]:
        return frozenset(name for name in ("reset", "gap", "restart") if getattr(self, name))

    @property
    def name(self) -> str:
        """As in `legacy-15s-of-3s-reset-gap`."""
        marks = [*sorted(self.faults), *(["churn"] if self.churn else []), f"{self.nodes}n", f"{self.packages}p"]
        return "-".join([self.dialect, f"{self.scrape:g}s-of-{self.refresh:g}s", *marks])


def grid() -> list[Cell]:
    """Every combination."""
    return [Cell(*values) for values in itertools.product(*AXES.values())]


def pairwise_cells(seed: int = 1) -> list[Cell]:
    """Few cells in which any two values of two axes meet at least once: the best of random ones, one by one."""
    cells = [astuple(cell) for cell in grid()]
    chance = random.Random(seed)
    open_pairs = set().union(*map(_pairs, cells))
    chosen = []
    while open_pairs:
        best = max(chance.sample(cells, 200), key=lambda cell: len(_pairs(cell) & open_pairs))
        open_pairs -= _pairs(best)
        chosen.append(Cell(*best))
    return chosen


def _pairs(values: Sequence[object]) -> set[tuple[object, ...]]:
    return {(a, values[a], b, values[b]) for a, b in itertools.combinations(range(len(values)), 2)}


@lru_cache(maxsize=4)
def runs_of(scrape: float, refresh: float, churn: bool, nodes: int, packages: int) -> list[NodeRun]:
    """An hour; with churn, containers come and go every minute."""
    phase, idle = (45.0, 20.0) if churn else (900.0, 600.0)
    return run_nodes(
        Scenario(
            START, HOUR, scrape, seed=7, nodes=nodes, containers=6, machine=Machine(sockets=packages),
            phase=phase, idle=idle, refresh=refresh,
        )
    )  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """A cell on disk: the samples of each node, and the machine behind them."""

    cell: Cell
    runs: list[NodeRun]
    shown: list[tuple[Scrapes, list[Metric]]]
    extracted: dict[str, NodeExtraction]
    node: dict[str, pd.DataFrame]
    containers: dict[str, pd.DataFrame]


def recorded(cell: Cell, folder: Path) -> Recording:
    """Simulate a cell, write its samples and extract them."""
    runs = runs_of(cell.scrape, cell.refresh, cell.churn, cell.nodes, cell.packages)
    legacy = cell.dialect == "legacy"
    sources = ["rapl-sysfs", "acpi"] if legacy else ["rapl-sysfs"]
    shown = exported(runs, cell.dialect, sources, cell.faults, seed=5)
    spec = RunSpec(energy_sources=sources, feature_groups=["Basic" if legacy else "CPUTime"])
    by_metric: dict[str, list[DecodedSeries]] = {}
    for _, scrapes, family in _families(shown):
        if not family.name.endswith(("watts", "_cpu_info", "pod_cpu_joules_total")):
            for labels, times, values in samples_of(scrapes, family):
                millis = np.rint(times * 1000).astype(np.int64)
                by_metric.setdefault(family.name, []).append(DecodedSeries(labels, millis, values))
    for metric, many in by_metric.items():
        columns = schema(metric, {name for one in many for name in one.labels})
        pq.write_table(table(many, columns), folder / f"{metric}.parquet")
    extracted, node, containers = {}, {}, {}
    for one in extractions(folder, spec, cell.dialect, Schedule()):
        extracted[one.name] = one
        containers[one.name] = pa.concat_tables(one.containers()).unify_dictionaries().to_pandas()
        node[one.name] = one.node().to_pandas()
    return Recording(cell, runs, shown, extracted, node, containers)


def _families(shown: list[tuple[Scrapes, list[Metric]]]) -> Iterator[tuple[int, Scrapes, Metric]]:
    for number, (scrapes, families) in enumerate(shown):
        for family in families:
            yield number, scrapes, family


def samples_of(scrapes: Scrapes, family: Metric) -> Iterator[tuple[dict[str, str], np.ndarray, np.ndarray]]:
    """Labels, times (Unix s) and values of every series of a metric that was ever scraped."""
    for curve in family.curves:
        seen, values = curve.sample(family.kind, scrapes)
        if len(values):
            yield {k: v for k, v in curve.labels.items() if v}, np.round(scrapes.recorded[seen], 3), values


@dataclass(frozen=True)
class Kept:
    """The windows of the rows of one node (Unix s)."""

    starts: np.ndarray
    ends: np.ndarray

    @property
    def seconds(self) -> np.ndarray:
        return self.ends - self.starts

    @classmethod
    def of(cls, recording: Recording, node: str) -> Kept:
        """A row tells the end of its window; the windows of the extraction tell where that began."""
        windows = recording.extracted[node].windows
        starts = {round(end, 3): start for start, end in zip(windows.starts, windows.ends, strict=True)}
        ends = recording.node[node]["time"].dt.as_unit("ms").astype("int64").to_numpy() / 1000
        return cls(np.array([starts[round(end, 3)] for end in ends]), ends)


def power_errors(recording: Recording, number: int) -> pd.DataFrame:
    """How far power is from what the meter metered between the readings behind the two scrapes of each window.

    A share of the true mean power; what a meter cannot show, since it counts in whole quanta, is left out.
    """
    run, scrapes = recording.runs[number], recording.shown[number][0]
    rows, kept = recording.node[run.name], Kept.of(recording, run.name)
    read_at = scrapes.reading.energy if scrapes.reading else (lambda times: times)
    begin, end = read_at(kept.starts), read_at(kept.ends)
    errors = {}
    for column in rows.columns[rows.columns.str.endswith("_power")]:
        component = column.partition("/")[2].removesuffix("_power")
        metered = run.energy[component].sum(axis=0)
        joules = np.interp(end, run.edges, metered) - np.interp(begin, run.edges, metered)
        watts = joules / (end - begin)
        counters = 2 * len(run.energy[component]) if recording.cell.dialect == "legacy" else 1  # modes and sockets
        unseen = counters * QUANTUM_JOULES[component] / (end - begin)
        errors[component] = np.maximum(np.abs(rows[column].to_numpy() - watts) - unseen, 0) / watts
    return pd.DataFrame(errors, index=rows["time"])


def scraped_gains(recording: Recording, number: int, feature: str) -> dict[str, np.ndarray]:
    """By container, what its counters gained in each kept window, added up scrape by scrape."""
    run, (scrapes, families) = recording.runs[number], recording.shown[number]
    kept = Kept.of(recording, run.name)
    clock = np.round(scrapes.recorded, 3)
    found: dict[str, np.ndarray] = {}
    for family in families:
        if family.name not in (f"kepler_container_{feature}_total", f"kepler_process_{feature}_total"):
            continue
        for labels, times, values in samples_of(scrapes, family):
            gains = np.diff(values)
            gains[gains < 0] = values[1:][gains < 0]  # since the reset
            since, at = times[:-1], times[1:]
            before = clock[clock < times[0]][-1:]
            if len(before) and times[0] - before[0] <= LATE * recording.cell.scrape:  # it came between two scrapes
                since, at, gains = (
                    np.concatenate(pair) for pair in ((before, since), (times[:1], at), (values[:1], gains))
                )
            window = np.searchsorted(kept.ends, at - 1e-4)
            inside = window < len(kept.ends)
            inside[inside] = kept.starts[window[inside]] <= since[inside] + 1e-4
            own = found.setdefault(container_of(labels), np.zeros(len(kept.ends)))
            np.add.at(own, window[inside], gains[inside])
    return found


def container_of(labels: dict[str, str]) -> str:
    """The id of a container; what is outside containers has that of the system."""
    return labels.get("container_id", "system_processes")


def features_of(recording: Recording) -> list[str]:
    """The features that containers have of their own."""
    legacy = ["bpf_cpu_time_ms", "bpf_page_cache_hit", "cache_miss", "cpu_cycles", "cpu_instructions"]
    return legacy if recording.cell.dialect == "legacy" else ["cpu_seconds"]


def conservation_error(recording: Recording, number: int) -> float:
    """The largest difference between rate · seconds of a container and what its counters gained, as a share of that."""
    name = recording.runs[number].name
    kept, rows = Kept.of(recording, name), recording.containers[name]
    place = pd.Index(recording.node[name]["time"])
    worst = 0.0
    for feature in features_of(recording):
        expected = scraped_gains(recording, number, feature)
        found = {container: np.zeros(len(kept.ends)) for container in expected}
        for container, own in rows.groupby("container", observed=True):
            at = place.get_indexer(own["time"])
            found[str(container).partition("/")[0]][at] = own[feature].to_numpy() * kept.seconds[at]
        for container, gains in expected.items():
            off = np.abs(found[container] - gains)
            worst = max(worst, float(np.max(off / np.maximum(gains, 1e-6), initial=0.0)))
    return worst


def work_error(recording: Recording, number: int) -> float:
    """How far the node's work in a window is from what its containers really did, in units of one of their counters.

    A counter shows whole units only: its gain is off by less than one.
    """
    run, scrapes = recording.runs[number], recording.shown[number][0]
    rows, kept = recording.node[run.name], Kept.of(recording, run.name)
    read_at = scrapes.reading.work if scrapes.reading else (lambda times: times)
    begin, end = read_at(kept.starts), read_at(kept.ends)
    worst = 0.0
    for feature in features_of(recording):
        legacy = recording.cell.dialect == "legacy"
        counted, unit, quantum = (feature, 1.0, 1.0) if legacy else ("bpf_cpu_time_ms", 1e-3, 0.01)
        true, counters = np.zeros(len(rows)), np.zeros(len(rows))
        for done, members in processes(run):
            edges = run.edges[done.container.first : done.container.last + 1]
            own = unit * done.counters[counted]
            true += np.interp(end, edges, own) - np.interp(begin, edges, own)
            for first, last in (
                {(edges[0], edges[-1])} if legacy else [(run.edges[p.first], run.edges[p.last]) for p in members]
            ):
                counters += (first <= end) & (last >= begin)
        off = np.abs(rows[feature].to_numpy() * kept.seconds - true)
        worst = max(worst, float(np.max(off / (quantum * counters), initial=0.0)))
    return worst


def additivity_error(recording: Recording, name: str) -> float:
    """The largest difference between the containers of a window and its node, as a share of the node."""
    own, rows = recording.containers[name], recording.node[name]
    features = [column for column in own.columns if column not in ("time", "node", "container")]
    total = own.groupby("time")[features].sum().reindex(rows["time"], fill_value=0.0)
    node = rows[features].to_numpy()
    return float(np.max(np.abs(total.to_numpy() - node) / np.maximum(np.abs(node), 1e-9), initial=0.0))


def kept_share(recording: Recording, name: str) -> float:
    """The share of an hour that is in rows."""
    return float(Kept.of(recording, name).seconds.sum() / HOUR)


def judged(cell: Cell) -> pd.DataFrame:
    """The worst of every figure, a row per node."""
    with tempfile.TemporaryDirectory() as folder:
        recording = recorded(cell, Path(folder))
        found = []
        for number, run in enumerate(recording.runs):
            errors = power_errors(recording, number)
            found.append(
                {
                    "cell": cell.name,
                    "node": run.name,
                    "rows": len(errors),
                    "window": float(np.median(Kept.of(recording, run.name).seconds)),
                    "kept": kept_share(recording, run.name),
                    "power": float(errors.max().max()),
                    "component": errors.max().idxmax(),
                    "when": errors.max(axis=1).idxmax(),
                    "conserved": conservation_error(recording, number),
                    "work": work_error(recording, number),
                    "adds up": additivity_error(recording, run.name),
                }
            )
    return pd.DataFrame(found)


def main() -> None:
    """Judge every `step`-th cell and print those that break a limit, then the worst of all."""
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    order = sorted(grid(), key=lambda c: (c.scrape, c.refresh, c.churn, c.nodes, c.packages))  # cells of a run together
    pd.set_option("display.width", 250, "display.max_columns", 20)
    every = []
    for cell in order[::step]:
        found = judged(cell)
        every.append(found)
        bad = found[
            (found["power"] > 0.01) | (found["conserved"] > 1e-9) | (found["adds up"] > 1e-9) | (found["work"] > 1)
        ]
        if len(bad):
            print(bad.to_string(header=False), flush=True)
    whole = pd.concat(every)
    print(f"{len(every)} cells, {whole['rows'].sum()} windows")
    print(whole[["power", "conserved", "work", "adds up"]].max())
    print(
        whole.groupby(whole["cell"].str.extract(r"(\d+s-of-\d+s)")[0])[["window", "kept", "power", "work"]].agg(
            ["min", "max"]
        )
    )


if __name__ == "__main__":
    main()
