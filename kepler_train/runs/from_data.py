"""Give a temporary run a frame in the place of a query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.columns import CONTAINER, NODE, TIME
from kepler_train.extract.frame_files import CONTAINERS_FILE, NODE_FILE
from kepler_train.extract.frame_metadata import with_metadata
from kepler_train.extract.user_frame import UserFrame
from kepler_train.isolate.isolation import attributed_file, isolated_node_file
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.machine.by_node import ANY_NODE, write_machines
from kepler_train.machine.choice import node_type_of
from kepler_train.machine.spec import MachineSpec
from kepler_train.runs.temporary import TemporaryRun


def give_rows(run: TemporaryRun, given: UserFrame, about: Mapping[str, Any], machine: MachineSpec | None) -> None:
    """Give rows that have the power of their whole node, as the result of extraction."""

    def extracted(out: Path) -> None:
        _write(given.whole(), out / NODE_FILE, about)
        _write(given.rows[[TIME, NODE, CONTAINER, *given.features]], out / CONTAINERS_FILE, about)
        _write_machine(machine, out)

    _skip_samples(run)
    run.give("extract", extracted)


def give_isolated_rows(
    run: TemporaryRun, given: UserFrame, about: Mapping[str, Any], machine: MachineSpec | None
) -> None:
    """Give rows to train on: of the power of nodes for AbsPower, else of the dynamic power of containers."""
    group, isolator = run.spec.feature_groups[0], about.get("isolator", "none")
    absolute = run.spec.output_types == ["AbsPower"]

    def extracted(out: Path) -> None:
        _write_machine(machine, out)
        if absolute:
            _write(given.whole(), out / NODE_FILE, about)

    def isolated(out: Path) -> None:
        nodes = sorted(map(str, given.rows[NODE].unique()))
        node_type_of(run.folder("plan"), run.folder("extract"), nodes, run.spec).write(out)
        outcome = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
        if not absolute:
            _write(given.summed(), out / isolated_node_file(group), about)
            _write(given.rows, out / attributed_file(group), about)
            outcome = Isolation(asked=isolator, isolator=isolator, why="the frame has dynamic power", attribution="")
        (out / ISOLATION).write_text(outcome.model_dump_json(indent=1), encoding="utf-8")

    _skip_samples(run)
    run.give("extract", extracted)
    run.give("isolate", isolated)


def _skip_samples(run: TemporaryRun) -> None:
    """Give the steps that come before a frame an empty result."""
    for step in ("query", "validate"):
        run.give(step, lambda _: None)


def _write(rows: pd.DataFrame, file: Path, about: Mapping[str, Any]) -> None:
    pq.write_table(with_metadata(pa.Table.from_pandas(rows, preserve_index=False), about), file)


def _write_machine(machine: MachineSpec | None, folder: Path) -> None:
    write_machines(folder, {ANY_NODE: machine} if machine else {})
