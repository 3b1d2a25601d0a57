"""Rows of a temporary run as the tables that commands write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from kepler_train.columns import NODE, TIME, WORKLOAD
from kepler_train.errors import DataError, UserError
from kepler_train.extract.feature_groups import columns_of_group, group_columns
from kepler_train.extract.frame_files import CONTAINERS_FILE, NODE_FILE
from kepler_train.extract.frame_metadata import read_frame_metadata
from kepler_train.extract.table_parts import TableInParts
from kepler_train.extract.training_table import in_parts, training_table
from kepler_train.isolate.isolation import attributed_file, isolated_node_file
from kepler_train.isolate.ordered_rows import OrderedRows
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.isolate.profile import BackgroundProfile
from kepler_train.isolate.profiling import IDLE_SECONDS, profiles_of
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.machine.spec import MachineSpec
from kepler_train.runs.temporary import TemporaryRun
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.workspace import files_of


def extracted(
    scratch: Path, spec: RunSpec, samples: Path, schedule: Schedule, machine: MachineSpec | None = None
) -> TemporaryRun:
    """Return a run that has extracted the rows of a folder of samples."""
    run = TemporaryRun(scratch, spec)
    run.give_plan(schedule)
    run.give_samples(samples, machine)
    run.do("extract")
    return run


def node_rows(run: TemporaryRun) -> pd.DataFrame:
    """Return the extracted rows of nodes."""
    files = files_of(run.folder("extract"), NODE_FILE)
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


def extracted_table(run: TemporaryRun) -> TableInParts:
    """Return rows of nodes for AbsPower; for DynPower those of containers, with the power of their whole node."""
    spec, node = run.spec, node_rows(run)
    if spec.output_types == ["DynPower"]:
        files = files_of(run.folder("extract"), CONTAINERS_FILE)
        return _table_of_group(OrderedRows(files, node, run.folder_of_its_own("ordered")), spec)
    features = columns_of_group(node, spec.feature_groups[0], spec.thirdparty_metrics)
    return in_parts(training_table(node, features, spec.energy_sources[0]))


def isolated_table(run: TemporaryRun, features: list[str] | None = None) -> TableInParts:
    """Return rows of containers with their share of the node's dynamic power.

    Their features are those of the feature group, unless they are named.
    """
    isolated, group = run.folder("isolate"), run.spec.feature_groups[0]
    node = pd.read_parquet(isolated / isolated_node_file(group), columns=[TIME, NODE, WORKLOAD])
    rows = OrderedRows([isolated / attributed_file(group)], node, run.folder_of_its_own("ordered"))
    return rows.table(features, run.spec.energy_sources[0]) if features else _table_of_group(rows, run.spec)


def _table_of_group(rows: OrderedRows, spec: RunSpec) -> TableInParts:
    """Return the rows with the columns of the one feature group and the one source of the spec."""
    features = group_columns(rows.complete, spec.feature_groups[0], spec.thirdparty_metrics)
    return rows.table(features, spec.energy_sources[0])


def about_table(run: TemporaryRun) -> dict[str, Any]:
    """Return what is known of the rows that a run extracted, and perhaps isolated."""
    about, file = read_frame_metadata(files_of(run.folder("extract"), NODE_FILE)[0]), run.folder("isolate") / ISOLATION
    if file.exists():
        isolation = Isolation.model_validate_json(file.read_bytes())
        about |= {"isolator": isolation.isolator, "attribution": isolation.attribution}
    return about


def rows_of_one_node(run: TemporaryRun, nodes: list[str]) -> tuple[pd.DataFrame, list[Path]]:
    """Return rows of the one node that has data, or is named, and the files with those of its containers."""
    node = node_rows(run)
    names = sorted(set(node[NODE]) & set(nodes) if nodes else set(node[NODE]))
    if len(names) != 1:
        present = ", ".join(sorted(node[NODE].unique()))
        raise UserError(f"One machine is profiled at a time, and the data hold {present}: name one with --nodes.")
    return node[node[NODE] == names[0]], files_of(run.folder("extract"), CONTAINERS_FILE)


def idle_profiles(run: TemporaryRun) -> dict[str, BackgroundProfile]:
    """Return the profile of each node of a query that was made when nothing but the background ran."""
    node = node_rows(run)
    idle = pd.Series(data=True, index=node.index)
    files = files_of(run.folder("extract"), CONTAINERS_FILE)
    profiles = profiles_of(node, files, idle, "query", run.spec.settled_node_type, {})
    if not profiles:
        raise DataError(f"The idle query has less than {IDLE_SECONDS:g} s of data of a node: make a longer one.")
    return {ANY_NODE: next(iter(profiles.values()))} if len(profiles) == 1 else profiles
