"""Training rows from the frames of extraction and isolation."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.columns import NODE, power_column
from kepler_train.errors import DataError, UserError
from kepler_train.extract.chosen import ChosenFeatures
from kepler_train.extract.feature_groups import select_group
from kepler_train.extract.frame_files import read_node_rows
from kepler_train.extract.row_times import workloads_or_blocks
from kepler_train.isolate.isolation import isolated_node_file
from kepler_train.machine.by_node import common_machine, read_machines
from kepler_train.machine.spec import MachineSpec
from kepler_train.model_key import Family, ModelKey
from kepler_train.models.lags import lagged_names, with_lags
from kepler_train.spec import RunSpec
from kepler_train.train.rows import TrainingRows
from kepler_train.train.training_set import training_sets


class Frames:
    """The frames of extraction and isolation. The last rows are cached: the trainers of a family come in turn."""

    def __init__(self, extracted: Path, isolated: Path, spec: RunSpec, features: ChosenFeatures | None = None) -> None:
        """Take `features`, or else those of the feature group that have data."""
        self._extracted, self._isolated, self._spec, self._features = extracted, isolated, spec, features
        self._last: tuple[tuple[Family, int], TrainingRows] | None = None

    def staged_at(self, extracted: Path, isolated: Path) -> Self:
        """Return these frames, whose files are now in other folders."""
        self._extracted, self._isolated = extracted, isolated
        return self

    def rows_for(self, key: ModelKey, lags: int) -> TrainingRows:
        """Return the rows that a model learns from, with the features of so many earlier windows."""
        wanted = key.family, lags
        if self._last is None or self._last[0] != wanted:
            self._last = wanted, self._read(key.family, lags)
        return self._last[1]

    def _read(self, family: Family, lags: int) -> TrainingRows:
        if family.output_type == "AbsPower":
            frame = read_node_rows(self._extracted)
        else:
            frame = pd.read_parquet(self._isolated / isolated_node_file(family.group))
        nodes = set(frame[NODE]) & set(self._spec.nodes or frame[NODE])
        machine = common_machine(read_machines(self._extracted), nodes)
        return training_rows(frame, machine, self._spec, family, lags, self._features)


def training_rows(
    frame: pd.DataFrame,
    machine: MachineSpec | None,
    spec: RunSpec,
    family: Family,
    lags: int = 0,
    chosen: ChosenFeatures | None = None,
) -> TrainingRows:
    """Return the training rows of a frame; DynPower has no intercept, since no work is no dynamic power."""
    frame = _of_the_asked_nodes(frame, spec)
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


def _of_the_asked_nodes(frame: pd.DataFrame, spec: RunSpec) -> pd.DataFrame:
    """Return the rows of the nodes to learn from; several nodes share a model only when the user names them."""
    nodes = sorted(frame[NODE].unique())
    if len(nodes) > 1 and not spec.nodes:
        raise UserError(
            f"The data hold {len(nodes)} nodes ({', '.join(nodes)}): name those that are of one type and may share"
            " a model in nodes."
        )
    return frame[frame[NODE].isin(spec.nodes)] if spec.nodes else frame
