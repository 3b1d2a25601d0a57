"""Estimate: what a model says about rows, with its interval and a flag for rows unlike any it was trained on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from kepler_train.catalog import catalog
from kepler_train.columns import CONTAINER, CONTAINER_ID, NODE, POWER, TIME, TIMESTAMP, WORKLOAD
from kepler_train.errors import DataError, UserError
from kepler_train.estimate.estimable import estimable_nodes
from kepler_train.estimate.sharing import ContainerRows, are_containers, estimated, sharing_features, window_numbers
from kepler_train.events import warn
from kepler_train.extract.frame_metadata import read_frame_metadata
from kepler_train.extract.node_extraction import NodeExtraction
from kepler_train.extract.row_times import workloads_or_blocks
from kepler_train.extract.training_table import unix_seconds
from kepler_train.extract.user_frame import read_user_frame, with_scheduled_workloads
from kepler_train.extract.write_frames import decode_names, report_node
from kepler_train.models import PowerModel
from kepler_train.models.hull import Hull
from kepler_train.models.lags import without_lag
from kepler_train.models.metadata import ModelMetadata
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec, read_spec

# Columns that say which row it is.
_LABELS = (TIME, NODE, CONTAINER, WORKLOAD)
_BLOCKS = 5  # of time, where no workload is known


def rows_of_frame(
    file: Path, metadata: ModelMetadata, machine: str, schedule: Schedule, nodes: list[str]
) -> pd.DataFrame:
    """The rows of a frame, by today's names, with the power that was measured where the frame has it.

    A schedule that has phases says which workload a row belongs to. Of the nodes that are asked for each must be there.
    """
    given = read_user_frame(file, metadata.energy_source, machine, measured=False)
    if schedule.phases:
        given = with_scheduled_workloads(
            given, schedule, read_frame_metadata(file) if file.suffix == ".parquet" else {}
        )
    rows = given.rows if given.has_containers else given.rows.drop(columns=CONTAINER)
    if metadata.output_type == "DynPower" and given.is_of_whole_nodes():
        rows = rows.drop(columns=given.power)
    rows = rows.rename(columns={name: name.partition("/")[2] for name in given.power})
    there = sorted(rows[NODE].unique())
    if missing := sorted(set(nodes) - set(there)):
        raise UserError(f"{file} has no rows of {', '.join(missing)}, only of {', '.join(there)}.")
    if nodes:
        rows = rows[rows[NODE].isin(nodes)].reset_index(drop=True)
    return rows


def rows_of_query(samples: Path, metadata: ModelMetadata, schedule: Schedule, asked: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of a query, extracted for a model: of nodes for AbsPower, of containers for DynPower.

    The power of a node is no measure of its containers' and is left out for them. Of nodes that were not asked for by
    name, those that cannot serve are left out.
    """
    needs = {without_lag(name) for name in metadata.features} | sharing_features(metadata)
    own = {
        "energy_sources": [metadata.energy_source],
        "feature_groups": [metadata.feature_group],
        "output_types": [metadata.output_type],
        "thirdparty_metrics": _of_others(needs),
    }
    spec: RunSpec = read_spec(own | dict(asked), "The options")
    found: list[pd.DataFrame] = []
    refused: list[DataError] = []
    for node, extraction in estimable_nodes(samples, spec, needs, schedule):
        try:
            found.append(_rows(extraction, spec))
        except DataError as error:
            if node in spec.nodes:
                raise
            refused.append(error)
    if not found and len(refused) == 1:
        raise refused[0]
    for reason in refused:
        warn(f"{reason} It is left out.")
    if not found:
        raise DataError(f"None of the {len(refused)} nodes of the query can be estimated: the lines above say why.")
    return pd.concat(found, ignore_index=True)


def _of_others(features: Iterable[str]) -> list[str]:
    """Features that go by the names of other exporters' metrics."""
    known = {feature for own in catalog().feature_sets.values() for feature in own}
    return sorted(name for name in features if name not in known and not catalog().of_node(name))


def _rows(extraction: NodeExtraction | DataError, spec: RunSpec) -> pd.DataFrame:
    """The rows of one node with `<component>_power` as measured (W), or of its containers; or why there are none."""
    if isinstance(extraction, DataError):
        raise extraction
    node: pd.DataFrame = decode_names(extraction.node()).to_pandas()
    report_node(extraction, len(node), spec)
    if spec.output_types == ["DynPower"]:
        containers: pd.DataFrame = pa.concat_tables(map(decode_names, extraction.containers())).to_pandas()
        return containers.merge(node[[TIME, NODE, WORKLOAD]], on=[TIME, NODE])
    return node.rename(columns={name: name.partition("/")[2] for name in node.columns if "/" in name})


def estimates(model: PowerModel, metadata: ModelMetadata, rows: pd.DataFrame) -> pd.DataFrame:
    """Every row with the estimated power of each component (W): `predicted`, `low`, `high`, and `measured` or NaN.

    ContainerRows have their share of what the model says of their node. `outside` marks rows whose features are outside
    the hull of the training rows.
    """
    if rows.empty:
        raise UserError("There are no rows to estimate: name a frame or a query that has some.")
    labels = rows[[name for name in _LABELS if name in rows.columns]]
    found = estimated(model, metadata, rows)  # refuses rows that lack what the model needs
    outside = _outside(metadata, rows)
    pieces = []
    for component, own in found.items():
        measured = rows.get(f"{component}{POWER}")
        pieces.append(
            labels.assign(
                component=component,
                **own._asdict(),
                measured=np.nan if measured is None else measured,
                outside=outside.get(component, False),
            )
        )
    return pd.concat(pieces, ignore_index=True)


def _outside(metadata: ModelMetadata, rows: pd.DataFrame) -> dict[str, npt.NDArray[np.bool_]]:
    """Rows unlike those of training by component; of containers also those whose node does more than any did then."""
    hulls = {name: Hull.read(content) for name, content in metadata.hull.items()}
    outside = {component: hull.outside(rows) for component, hull in hulls.items()}
    if are_containers(metadata, rows):
        window, features = window_numbers(rows), {name for hull in hulls.values() for name in hull.features}
        containers = ContainerRows({name: rows[name].to_numpy(dtype=np.float64) for name in features}, window)
        nodes = {name: containers.added_up(name) for name in features}
        outside = {component: outside[component] | hull.beyond(nodes)[window] for component, hull in hulls.items()}
    return outside


def estimate_table(found: pd.DataFrame) -> pd.DataFrame:
    """A row per row: `<component>_power` with `_low` and `_high` (W), and `outside`."""
    labels = [name for name in _LABELS if name in found.columns and (found[name] != "").any()]
    parts = []
    for component, rows in found.groupby("component", sort=False):
        columns = {
            "predicted": f"{component}{POWER}",
            "low": f"{component}{POWER}_low",
            "high": f"{component}{POWER}_high",
        }
        parts.append(rows.reset_index(drop=True)[list(columns)].rename(columns=columns))
    first = found[found["component"] == found["component"].iloc[0]].reset_index(drop=True)
    outside = np.logical_or.reduce([rows["outside"].to_numpy() for _, rows in found.groupby("component", sort=False)])
    table = pd.concat([first[labels], *parts], axis=1).assign(outside=outside)
    table[TIME] = unix_seconds(table[TIME])
    named: pd.DataFrame = table.rename(columns={TIME: TIMESTAMP, CONTAINER: CONTAINER_ID})
    return named


def of_nodes(found: pd.DataFrame) -> pd.DataFrame:
    """Estimates of nodes: those of the containers of a window together."""
    if CONTAINER not in found.columns:
        return found
    watts = ["predicted", "low", "high", "measured"]
    how = dict.fromkeys(watts, "sum") | {WORKLOAD: "first", "outside": "any"}
    by = found.groupby(["component", TIME, NODE], sort=False)
    measured = by["measured"].sum().where(by["measured"].count() == by.size())  # of all containers, or of none
    return by.agg(how).assign(measured=measured).reset_index()


def loads_of(metadata: ModelMetadata, rows: pd.DataFrame) -> dict[str, pd.Series[float]]:
    """For each component the feature that its training took for its load, or the first where that is not there."""
    first = without_lag(metadata.features[0])
    main = {component: without_lag(name) for component, name in metadata.main_features.items()}
    return {component: rows[name if name in rows.columns else first] for component, name in main.items()}


def by_workload(found: pd.DataFrame) -> pd.DataFrame:
    """Estimates of rows that belong to a workload; where none does, blocks of time stand for workloads."""
    return pd.concat([workloads_or_blocks(own, _BLOCKS) for _, own in found.groupby("component", sort=False)])


def rows_trained_on(metadata: ModelMetadata, rows: pd.DataFrame) -> int:
    """How many rows are of the time that a model was trained on: what it errs by there is not what it errs by."""
    if len(metadata.window) != 2:
        return 0
    start, end = map(pd.Timestamp, metadata.window)
    return int(rows[TIME].between(start, end).sum())
