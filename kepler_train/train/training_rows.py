"""Rows that all trainers of a source, output type and feature group learn from, of the frames of earlier steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.columns import NODE, TIME, WORKLOAD, power_column
from kepler_train.errors import DataError
from kepler_train.extract.chosen import ChosenFeatures
from kepler_train.extract.feature_groups import select_group
from kepler_train.extract.frame_files import read_node_rows
from kepler_train.extract.row_times import RowTimes, workloads_or_blocks
from kepler_train.isolate.isolation import isolated_node_file
from kepler_train.machine.by_node import common_machine, read_machines
from kepler_train.machine.choice import unnamed_nodes
from kepler_train.machine.spec import MachineSpec
from kepler_train.model_key import Family
from kepler_train.models.hull import Hull
from kepler_train.models.lags import lagged_names, with_lags
from kepler_train.spec import RunSpec
from kepler_train.train.training_set import TrainingSet, training_sets


@dataclass(frozen=True)
class TrainingRows:
    """Rows of nodes, sorted by node and time, the training set of each component, and the machine.

    Derived values are cached: ten trainers and more need the same.
    """

    rows: pd.DataFrame
    features: list[str]
    sets: Mapping[str, TrainingSet]
    machine: MachineSpec | None = None
    features_from: str = "group"
    note: str = ""  # on the choice of features

    @cached_property
    def window(self) -> tuple[datetime, datetime]:
        """Return the times of the first and the last row."""
        return self.rows[TIME].min(), self.rows[TIME].max()

    @cached_property
    def window_seconds(self) -> float:
        """Return the length of the window of one row (s)."""
        return RowTimes.of(self.rows).seconds

    @cached_property
    def workloads(self) -> dict[str, int]:
        """Return how many rows each workload has, in the order in which they ran."""
        counted = self.rows[WORKLOAD].value_counts(sort=False)
        return {str(name): int(count) for name, count in counted.items()}

    def hull(self, features: tuple[str, ...], *, parts: bool) -> dict[str, Any]:
        """Return the hull of the rows over some features, as in metadata; with `parts` also of what is below it."""
        if (features, parts) not in self._hulls:
            self._hulls[features, parts] = Hull.of(self.rows, list(features), parts=parts).as_dict()
        return self._hulls[features, parts]

    @cached_property
    def _hulls(self) -> dict[tuple[tuple[str, ...], bool], dict[str, Any]]:
        return {}


def read_training_rows(
    extracted: Path, isolated: Path, spec: RunSpec, family: Family, lags: int, chosen: ChosenFeatures | None
) -> TrainingRows:
    """Return the rows of a family in the folders of extraction and isolation, with the features of earlier windows."""
    if family.output_type == "AbsPower":
        frame = read_node_rows(extracted)
    else:
        frame = pd.read_parquet(isolated / isolated_node_file(family.group))
    nodes = set(frame[NODE]) & set(spec.nodes or frame[NODE])
    machine = common_machine(read_machines(extracted), nodes)
    return training_rows(frame, machine, spec, family, lags, chosen)


def training_rows(
    frame: pd.DataFrame,
    machine: MachineSpec | None,
    spec: RunSpec,
    family: Family,
    lags: int = 0,
    chosen: ChosenFeatures | None = None,
) -> TrainingRows:
    """Return the training rows of a frame: with the `chosen` features, else those of the group that have data.

    DynPower has no intercept, since no work is no dynamic power.
    """
    frame = _of_requested_nodes(frame, spec)
    rows = workloads_or_blocks(frame, spec.folds)
    features = chosen.columns if chosen else _features(rows, family.group, spec.thirdparty_metrics)
    power = _power_columns(frame, family.source)
    check_numbers(rows, [*features, *power.values()])
    if lags:  # the window before a row may be one in which the load changed
        rows = workloads_or_blocks(with_lags(frame, features, lags), spec.folds)
        features = lagged_names(features, lags)
    sets = training_sets(
        rows, features, power, family.group, intercept=family.output_type == "AbsPower", seed=spec.seed
    )
    origin = {"features_from": chosen.origin, "note": chosen.note} if chosen else {}
    return TrainingRows(rows, features, sets, machine, **origin)


def check_numbers(rows: pd.DataFrame, columns: list[str]) -> None:
    """Refuse columns that are not numbers throughout: a row without a value is no row to learn from."""
    lacking = {name: int((~np.isfinite(rows[name].to_numpy(dtype=np.float64))).sum()) for name in columns}
    named = [f"{name} in {count}" for name, count in lacking.items() if count]
    if named:
        raise DataError(
            f"Of {len(rows)} rows some hold no number, but nothing, text or infinity: {', '.join(named)}."
            " Leave these rows or columns out."
        )


def _features(rows: pd.DataFrame, group: str, third_party: list[str]) -> list[str]:
    """Return the columns of a feature group; refuse one that it needs and that has no data or gaps."""
    selection = select_group(rows, group, third_party)
    if selection.missing:
        check_numbers(rows, [name for name in selection.missing if name in rows.columns])  # there, but not in every row
        missing = ", ".join(selection.missing)
        raise DataError(f"The data have no {missing} of feature group {group}: choose another group.")
    return selection.columns


def _power_columns(frame: pd.DataFrame, source: str) -> dict[str, str]:
    """Return the power column of each component that the source measured."""
    columns = {component: power_column(source, component) for component in catalog().source(source).components}
    measured = {component: column for component, column in columns.items() if column in frame.columns}
    if not measured:
        raise DataError(f"The data have no power of {source}: choose a source that was collected.")
    return measured


def _of_requested_nodes(frame: pd.DataFrame, spec: RunSpec) -> pd.DataFrame:
    """Return the rows of the nodes to learn from; several nodes share a model only when the user names them."""
    nodes = sorted(frame[NODE].unique())
    if len(nodes) > 1 and not spec.nodes:
        raise unnamed_nodes(nodes)
    return frame[frame[NODE].isin(spec.nodes)] if spec.nodes else frame
