"""Isolation and training on a frame that is given, in place of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.collect.machine import MachineSpec
from kepler_train.collect.schedule import Schedule
from kepler_train.errors import UserError
from kepler_train.extract.given import Given
from kepler_train.extract.provenance import described
from kepler_train.extract.table import training_table
from kepler_train.extract.workloads import TRANSITION, label_windows
from kepler_train.isolate.isolation import attributed, isolated_node
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.spec import RunSpec
from kepler_train.steps.background import Known
from kepler_train.steps.extract import CONTAINERS, NODE
from kepler_train.steps.isolate import isolate_frames
from kepler_train.steps.machines import ANY_NODE, write_machines
from kepler_train.steps.pipeline import train_frames
from kepler_train.train.protocols import Windows
from kepler_train.train.rows import Chosen
from kepler_train.train.training_set import times_of
from kepler_train.workspace import Figures


def with_workloads(given: Given, schedule: Schedule, about: Mapping[str, Any]) -> Given:
    """Rows that have the load of the phase that holds their window whole, as extraction labels it."""
    if (given.rows["workload"] != TRANSITION).any():
        raise UserError("The frame has workloads of its own: leave out --schedule, or its column workload.")
    windows = given.rows[["node", "time", "workload"]].drop_duplicates().sort_values(["node", "time"])
    seconds = float(about.get("window_seconds") or 0) or Windows.of(windows).seconds
    ends = times_of(given.rows)
    labels = np.full(len(ends), TRANSITION, dtype=object)
    for node in given.rows["node"].unique():
        own = (given.rows["node"] == node).to_numpy()
        labels[own] = label_windows(ends[own] - seconds, ends[own], node, schedule)
    if not (labels != TRANSITION).any():
        first, last = (f"{time:%Y-%m-%d %H:%M:%S}" for time in (given.rows["time"].min(), given.rows["time"].max()))
        raise UserError(
            f"No row of the frame, from {first} to {last} UTC, lies in a phase of the schedule: name that of its time."
        )
    return replace(given, rows=given.rows.assign(workload=labels))


def isolate_given(
    given: Given,
    spec: RunSpec,
    features: list[str],
    known: Known,
    scratch: Path,
    about: Mapping[str, Any],
    machine: MachineSpec | None = None,
) -> pd.DataFrame:
    """Rows of containers with their share of dynamic power, from rows that have the power of their whole node."""
    isolated, group = scratch / "isolate", spec.feature_groups[0]
    isolated.mkdir()
    _write(given.whole(), scratch / NODE, about)
    _write(given.rows[["time", "node", "container", *given.features]], scratch / CONTAINERS, about)
    write_machines(scratch, {ANY_NODE: machine} if machine else {})
    isolate_frames(scratch, spec, known, isolated, {group: features})
    return training_table(pd.read_parquet(isolated / attributed(group)), features, spec.energy_sources[0])


def train_given(
    given: Given,
    spec: RunSpec,
    features: Chosen,
    run: str,
    scratch: Path,
    out: Path,
    about: Mapping[str, Any],
    machine: MachineSpec | None = None,
    kept: Path | None = None,
) -> Figures:
    """Train the models of one output type: on the power of nodes, or on what is left of it after isolation."""
    extracted, isolated, group = scratch / "extract", scratch / "isolate", spec.feature_groups[0]
    for folder in (extracted, isolated):
        folder.mkdir()
    write_machines(extracted, {ANY_NODE: machine} if machine else {})
    if spec.output_types == ["AbsPower"]:
        _write(given.whole(), extracted / NODE, about)
        done = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
    else:
        _write(given.summed(), isolated / isolated_node(group), about)
        _write(given.rows, isolated / attributed(group), about)
        isolator = about.get("isolator", "none")
        done = Isolation(asked=isolator, isolator=isolator, why="the frame has dynamic power", attribution="")
    (isolated / ISOLATION).write_text(done.model_dump_json(indent=1), encoding="utf-8")
    return train_frames(extracted, isolated, spec, run, scratch, out, features, kept)


def _write(rows: pd.DataFrame, file: Path, about: Mapping[str, Any]) -> None:
    pq.write_table(described(pa.Table.from_pandas(rows, preserve_index=False), about), file)
