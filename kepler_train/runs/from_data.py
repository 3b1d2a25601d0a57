"""Isolation and training on a frame that is given, in place of a query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.extract.frame_files import CONTAINERS_FILE, NODE_FILE
from kepler_train.extract.frame_metadata import with_metadata
from kepler_train.extract.training_table import training_table
from kepler_train.extract.user_frame import UserFrame
from kepler_train.isolate.background import KnownBackground
from kepler_train.isolate.frames import isolate_frames
from kepler_train.isolate.isolation import attributed_file, isolated_node_file
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.machine.by_node import ANY_NODE, write_machines
from kepler_train.machine.spec import MachineSpec
from kepler_train.runs.pipeline import train_frames
from kepler_train.spec import RunSpec
from kepler_train.train.rows import Chosen
from kepler_train.workspace import Figures


def isolate_given(
    given: UserFrame,
    spec: RunSpec,
    features: list[str],
    known: KnownBackground,
    scratch: Path,
    about: Mapping[str, Any],
    machine: MachineSpec | None = None,
) -> pd.DataFrame:
    """Rows of containers with their share of dynamic power, from rows that have the power of their whole node."""
    isolated, group = scratch / "isolate", spec.feature_groups[0]
    isolated.mkdir()
    _write(given.whole(), scratch / NODE_FILE, about)
    _write(given.rows[["time", "node", "container", *given.features]], scratch / CONTAINERS_FILE, about)
    write_machines(scratch, {ANY_NODE: machine} if machine else {})
    isolate_frames(scratch, spec, known, isolated, {group: features})
    return training_table(pd.read_parquet(isolated / attributed_file(group)), features, spec.energy_sources[0])


def train_given(
    given: UserFrame,
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
        _write(given.whole(), extracted / NODE_FILE, about)
        done = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
    else:
        _write(given.summed(), isolated / isolated_node_file(group), about)
        _write(given.rows, isolated / attributed_file(group), about)
        isolator = about.get("isolator", "none")
        done = Isolation(asked=isolator, isolator=isolator, why="the frame has dynamic power", attribution="")
    (isolated / ISOLATION).write_text(done.model_dump_json(indent=1), encoding="utf-8")
    return train_frames(extracted, isolated, spec, run, scratch, out, features, kept)


def _write(rows: pd.DataFrame, file: Path, about: Mapping[str, Any]) -> None:
    pq.write_table(with_metadata(pa.Table.from_pandas(rows, preserve_index=False), about), file)
