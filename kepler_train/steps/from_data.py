"""Isolation and training on a frame that is given, in place of a query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.catalog import catalog
from kepler_train.collect.machine import MachineSpec
from kepler_train.errors import DataError, UserError
from kepler_train.extract.columns import select_group
from kepler_train.extract.given import Given
from kepler_train.extract.provenance import described
from kepler_train.extract.table import training_table
from kepler_train.isolate.isolation import attributed, isolated_node
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.spec import RunSpec
from kepler_train.steps.background import Known
from kepler_train.steps.extract import CONTAINERS, NODE
from kepler_train.steps.isolate import isolate_frames
from kepler_train.steps.machines import ANY_NODE, write_machines
from kepler_train.steps.pipeline import train_frames
from kepler_train.steps.training_rows import check_numbers
from kepler_train.workspace import Figures

# What --features may say instead of a list of columns.
OF_GROUP, OF_FRAME = "group", "frame"


def chosen_features(given: Given, asked: str, group: str, third_party: list[str]) -> list[str]:
    """The columns to work with: those of the feature group, all of the frame, or a list, by today's names or older."""
    features = _asked_features(given, asked, group, third_party)
    check_numbers(given.rows, features)
    return features


def _asked_features(given: Given, asked: str, group: str, third_party: list[str]) -> list[str]:
    if asked == OF_FRAME:
        return given.features
    if asked == OF_GROUP:
        found = select_group(given.rows, group, third_party)
        if found.missing:
            check_numbers(given.rows, [name for name in found.missing if name in given.features])
            raise DataError(
                f"The frame has no {', '.join(found.missing)} of feature group {group}: choose another group, or"
                " --features frame."
            )
        return found.columns
    aliases = catalog().feature_aliases
    names = [name.strip() for name in asked.split(",") if name.strip()]
    features = sorted({aliases[name].feature if name in aliases else name for name in names})
    missing = [name for name in features if name not in given.features]
    if missing or not features:
        raise UserError(f"The frame has no {', '.join(missing) or 'features'}: it has {', '.join(given.features)}.")
    return features


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
    features: list[str],
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
