"""Estimate the power of rows of a frame or a query, with intervals and a flag for rows unlike those of training."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from kepler_train.catalog import catalog
from kepler_train.columns import CONTAINER, CONTAINER_ID, NODE, POWER, TIME, TIMESTAMP, WORKLOAD, power_columns
from kepler_train.errors import DataError, UserError
from kepler_train.estimate.estimable import estimable_nodes
from kepler_train.estimate.estimable_rows import LABELS, EstimableRows
from kepler_train.estimate.predict import Prediction, predict
from kepler_train.estimate.sharing import sharing_features, window_numbers
from kepler_train.events import warn
from kepler_train.extract.frame_metadata import read_frame_metadata
from kepler_train.extract.node_extraction import NodeExtraction
from kepler_train.extract.row_times import workloads_or_blocks
from kepler_train.extract.user_frame import read_user_frame, with_scheduled_workloads
from kepler_train.extract.write_frames import decode_names, report_node
from kepler_train.isolate.ordered_rows import OrderedRows
from kepler_train.models import PowerModel
from kepler_train.models.lags import without_lag
from kepler_train.models.metadata import ModelMetadata, Training
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec, read_spec

_BLOCKS = 5  # of time, where no workload is known


def rows_of_frame(
    file: Path, metadata: ModelMetadata, machine: str, schedule: Schedule, nodes: list[str]
) -> EstimableRows:
    """Return the rows of a frame, by today's names, with measured power where the frame has it.

    A schedule that has phases gives the workload of each row. Refuse a frame without rows of one of `nodes`.
    """
    frame = read_user_frame(file, metadata.energy_source, machine, measured=False)
    if schedule.phases:
        about = read_frame_metadata(file) if file.suffix == ".parquet" else {}
        frame = with_scheduled_workloads(frame, schedule, about)
    rows = frame.rows if frame.has_containers else frame.rows.drop(columns=CONTAINER)
    if metadata.output_type == "DynPower" and frame.is_of_whole_nodes():
        rows = rows.drop(columns=frame.power)
    rows = _by_component(rows)
    known_nodes = sorted(rows[NODE].unique())
    if missing := sorted(set(nodes) - set(known_nodes)):
        raise UserError(f"{file} has no rows of {', '.join(missing)}, only of {', '.join(known_nodes)}.")
    return EstimableRows.of(rows[rows[NODE].isin(nodes)].reset_index(drop=True) if nodes else rows)


def _by_component(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with power as `<component>_power`, whatever its source."""
    return rows.rename(columns={name: name.partition("/")[2] for name in power_columns(rows)})


def rows_of_query(
    samples: Path, metadata: ModelMetadata, schedule: Schedule, options: Mapping[str, Any], scratch: Path
) -> EstimableRows:
    """Return the rows of a query, extracted for a model: of nodes for AbsPower, of containers for DynPower.

    Rows of containers have no measured power, since the meter measures their node; they may be more than memory has
    room for, and are kept in files below `scratch`. Nodes without the data that the model needs are left out, unless
    `options` name them.
    """
    needs = {without_lag(name) for name in metadata.features} | sharing_features(metadata)
    of_model = {
        "energy_sources": [metadata.energy_source],
        "feature_groups": [metadata.feature_group],
        "output_types": [metadata.output_type],
        "thirdparty_metrics": _third_party(needs),
    }
    spec: RunSpec = read_spec(of_model | dict(options), "The options")
    frames: list[pd.DataFrame] = []
    files: list[Path] = []
    refused: list[DataError] = []
    for node, extraction in estimable_nodes(samples, spec, needs, schedule):
        try:
            if isinstance(extraction, DataError):
                raise extraction
            rows = _node_rows(extraction, spec)
            if spec.output_types == ["DynPower"]:
                files.append(_write_containers(extraction, scratch / f"containers-{len(files)}.parquet"))
            frames.append(rows)
        except DataError as error:
            if node in spec.nodes:
                raise
            refused.append(error)
    if not frames and len(refused) == 1:
        raise refused[0]
    for reason in refused:
        warn(f"{reason} It is left out.")
    if not frames:
        raise DataError(f"None of the {len(refused)} nodes of the query can be estimated: the lines above say why.")
    rows = pd.concat(frames, ignore_index=True)
    if not files:
        return EstimableRows.of(_by_component(rows))
    return EstimableRows.ordered(OrderedRows(files, rows, scratch))


def _third_party(features: Iterable[str]) -> list[str]:
    """Return the features that are metrics of other exporters."""
    known = {feature for names in catalog().feature_sets.values() for feature in names}
    return sorted(name for name in features if name not in known and not catalog().of_node(name))


def _node_rows(extraction: NodeExtraction, spec: RunSpec) -> pd.DataFrame:
    """Return the rows of one node, with measured power where it has a meter."""
    node: pd.DataFrame = decode_names(extraction.node()).to_pandas()
    report_node(extraction, len(node), spec)
    return node


def _write_containers(extraction: NodeExtraction, file: Path) -> Path:
    """Write the rows of the containers of a node, some containers at a time, and return the file."""
    tables = map(decode_names, extraction.containers())
    first = next(tables)
    with pq.ParquetWriter(file, first.schema, compression="zstd", use_dictionary=[NODE, CONTAINER]) as out:
        for table in itertools.chain([first], tables):
            out.write_table(table)
    return file


def estimates(model: PowerModel, metadata: ModelMetadata, rows: pd.DataFrame) -> pd.DataFrame:
    """Return for every row and component power (W) as `predicted`, with `low` and `high`, and as `measured`, or NaN.

    Containers have their share of what the model predicts for their node. `outside` marks rows whose features are
    outside the hull of the training rows.
    """
    if rows.empty:
        raise UserError("There are no rows to estimate: name a frame or a query that has some.")
    labels = rows[[name for name in LABELS if name in rows.columns]]
    parts = []
    for component, prediction in predict_rows(model, metadata, rows).items():
        measured = rows.get(f"{component}{POWER}")
        parts.append(
            labels.assign(
                component=component,
                predicted=prediction.predicted,
                low=prediction.low,
                high=prediction.high,
                measured=np.nan if measured is None else measured,
                outside=prediction.outside,
            )
        )
    return pd.concat(parts, ignore_index=True)


def predict_rows(model: PowerModel, metadata: Training, rows: pd.DataFrame) -> dict[str, Prediction]:
    """Return the predictions for the rows of a frame; earlier windows are found in it, and containers of one window."""
    features = {str(name): rows[name] for name in rows.columns} | model.columns_of(rows)
    return predict(model, metadata, features, window_numbers(rows) if CONTAINER in rows.columns else None)


def estimate_table(estimated: pd.DataFrame, rows: EstimableRows) -> pd.DataFrame:
    """Return a row per row of a part of `rows`: `<component>_power` with `_low` and `_high` (W), and `outside`."""
    by_component = {str(name): rows.reset_index(drop=True) for name, rows in estimated.groupby("component", sort=False)}
    table = next(iter(by_component.values()))[rows.labels]
    for component, own in by_component.items():
        power = f"{component}{POWER}"
        table = table.assign(
            **{power: own["predicted"], f"{power}_low": own["low"], f"{power}_high": own["high"]},
        )
    table["outside"] = np.logical_or.reduce([own["outside"].to_numpy() for own in by_component.values()])
    table[TIME] = rows.unix_seconds(table[TIME])
    return table.rename(columns={TIME: TIMESTAMP, CONTAINER: CONTAINER_ID})


def of_nodes(estimated: pd.DataFrame) -> pd.DataFrame:
    """Return the estimates of nodes: those of the containers of a window together."""
    if CONTAINER not in estimated.columns:
        return estimated
    aggregation = dict.fromkeys(("predicted", "low", "high", "measured"), "sum") | {WORKLOAD: "first", "outside": "any"}
    by = estimated.groupby(["component", TIME, NODE], sort=False)
    measured = by["measured"].sum().where(by["measured"].count() == by.size())  # of all containers, or of none
    return by.agg(aggregation).assign(measured=measured).reset_index()


def loads_of(metadata: ModelMetadata, rows: pd.DataFrame) -> dict[str, pd.Series[float]]:
    """Return for each component its main feature in training, or the model's first one where rows lack that."""
    first = without_lag(metadata.features[0])
    main = {component: without_lag(name) for component, name in metadata.main_features.items()}
    return {component: rows[name if name in rows.columns else first] for component, name in main.items()}


def by_workload(estimated: pd.DataFrame) -> pd.DataFrame:
    """Return the estimates of rows that belong to a workload; where none does, with blocks of time as workloads."""
    return pd.concat([workloads_or_blocks(rows, _BLOCKS) for _, rows in estimated.groupby("component", sort=False)])


def rows_trained_on(metadata: ModelMetadata, rows: pd.DataFrame) -> int:
    """Return how many rows lie in the time of training: errors there say nothing about other rows."""
    if len(metadata.window) != 2:
        return 0
    start, end = map(pd.Timestamp, metadata.window)
    return int(rows[TIME].between(start, end).sum())
