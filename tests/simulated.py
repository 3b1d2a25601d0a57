"""Simulated nodes as a query leaves them, with their schedule and the truth of their containers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kepler_train.errors import DataError
from kepler_train.runs.registry import STEPS
from kepler_train.runs.runner import run_step
from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import schema, table
from kepler_train.simulate.history import exported, write_schedule
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.simulate.store import store_of
from kepler_train.simulate.truth import write_container_truth
from kepler_train.spec import RunSpec
from kepler_train.workspace import Inputs, Manifest, Run, Step, open_store

START = 1_794_614_400.0  # 2026-11-14T00:00:00Z
SOURCE = "rapl-sysfs"
ASKED = {
    "pipeline": "lab",
    "feature_groups": ["BPFOnly"],
    "dyn_trainers": ["LinearRegressionTrainer"],
    "abs_trainers": ["LinearRegressionTrainer"],
    "folds": 2,
    "gate_mae": 40,
    "gate_limit": 1000,
    "node_type": 0,
    "start": "2026-11-14T00:00:00Z",
    "end": "2026-11-14T01:00:00Z",
}


def write_node(
    folder: Path,
    hours: float,
    seed: int = 2,
    containers: int = 6,
    idle: float = 300,
    nodes: int = 1,
    dialect: str = "legacy",
    start: float = START,
) -> Path:
    """Write `kepler_query/`, `schedule.json` and `truth.parquet`."""
    scenario = Scenario(
        start=start, duration=3600 * hours, seed=seed, containers=containers, phase=300, idle=idle, nodes=nodes
    )
    runs = run_nodes(scenario)
    samples = folder / "kepler_query"
    samples.mkdir(parents=True)
    by_metric: dict[str, list[DecodedSeries]] = {}
    for one in store_of(exported(runs, dialect, [SOURCE], frozenset(), seed=2)).series:
        by_metric.setdefault(one.labels["__name__"], []).append(DecodedSeries(one.labels, one.times, one.values))
    for metric, answer in by_metric.items():
        labels = {name for one in answer for name in one.labels} - {"__name__"}
        pq.write_table(table(answer, schema(metric, labels)), samples / f"{metric}.parquet")
    write_schedule(folder / "schedule.json", runs, "simulated")
    write_container_truth(folder / "truth.parquet", runs)
    return folder


class Recorded(Step):
    """A step that was done elsewhere: its files are in the folder that stands for its function."""

    def call(self, inputs: Inputs, spec: RunSpec, out: Path) -> dict[str, Any]:  # noqa: ARG002
        for file in Path(self.function).glob("*.parquet"):
            shutil.copyfile(file, out / file.name)
        return {}


class Lab:
    """A run on samples that were collected elsewhere."""

    def __init__(self, samples: Path, home: Path, run_id: str = "1", **asked: Any) -> None:
        self.spec = self.asked(**asked)
        self.run = Run.named(open_store(str(home)), f"lab/{run_id}")
        self.home = home / "runs" / "lab" / run_id
        self.steps = {**STEPS, "query": Recorded("query", str(samples), needs=("plan",))}
        for step in ("plan", "query", "validate"):
            self.do(step)

    @staticmethod
    def asked(**more: Any) -> RunSpec:
        """The spec of a run."""
        return RunSpec.model_validate(ASKED | more)

    def do(self, step: str, part: str = "") -> Manifest:
        return run_step(self.steps[step], self.steps, self.run, self.spec, part)

    def do_parts(self, step: str) -> list[str]:
        """Every part of a step; answers what the data did not allow."""
        failed = []
        for part in self.steps[step].parts(self.spec):
            try:
                self.do(step, part)
            except DataError as error:
                failed.append(str(error))
        return failed
