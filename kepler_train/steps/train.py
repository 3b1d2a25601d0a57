"""Train: one model — a source, an output type, a feature group, a trainer — and its held-out predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.collect.machine import MachineSpec
from kepler_train.errors import DataError, UserError
from kepler_train.events import say
from kepler_train.extract.columns import select_group
from kepler_train.extract.lags import lagged_names, with_lags
from kepler_train.isolate.isolation import attributed, isolated_node
from kepler_train.models import Fitted, PowerModel, save_model
from kepler_train.spec import RunSpec
from kepler_train.steps.checkpoints import checkpoints
from kepler_train.steps.frames import read_node_rows
from kepler_train.steps.machines import common_machine, read_machines
from kepler_train.steps.previous import best_before
from kepler_train.train.about import about_rows, hulls
from kepler_train.train.additivity import additivity_error
from kepler_train.train.held_out import fit, held_out, write_held_out
from kepler_train.train.intervals import intervals
from kepler_train.train.protocols import workloads_or_blocks
from kepler_train.train.trainer import trainer as find_trainer
from kepler_train.train.training_set import training_set
from kepler_train.workspace import Figures, Inputs

HELD_OUT, MODEL = "held_out.parquet", "model"


def train(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Train the model that the part names."""
    folders = inputs.folder("extract"), inputs.folder("isolate")
    return train_part(*folders, inputs.part, spec, out, kept=inputs.folder("plan"))


def train_part(
    extracted: Path,
    isolated: Path,
    part: str,
    spec: RunSpec,
    out: Path,
    features: list[str] | None = None,
    kept: Path | None = None,
) -> Figures:
    """Fit a model on frames, save and re-load it, and hold rows out by every protocol.

    Without a list of features they are those of the feature group that have data. `kept` is where the plan put the
    models that were published before.
    """
    _, output_type, group, _ = part.split("/")
    frame = read_node_rows(extracted) if output_type == "AbsPower" else pd.read_parquet(isolated / isolated_node(group))
    machine = common_machine(read_machines(extracted), set(frame["node"]) & set(spec.nodes or frame["node"]))
    return train_one(frame, isolated / attributed(group), machine, spec, part, out, features, kept)


def train_one(
    frame: pd.DataFrame,
    containers: Path,
    machine: MachineSpec | None,
    spec: RunSpec,
    part: str,
    out: Path,
    features: list[str] | None = None,
    kept: Path | None = None,
) -> Figures:
    """Train on node rows; DynPower has no intercept, since no work is no dynamic power."""
    source, output_type, group, trainer_name = part.split("/")
    trainer = find_trainer(trainer_name)
    lags = trainer.lags if output_type == "AbsPower" else 0
    if trainer.lags and not lags and not trainer.additive:
        raise DataError(f"{trainer_name} looks at earlier windows, which a container may not have: it is for AbsPower.")
    frame = _of_the_asked_nodes(frame, spec)
    rows = workloads_or_blocks(frame, spec.folds)
    features = features or _features(rows, group, spec.thirdparty_metrics)
    power = _power_columns(frame, source)
    check_numbers(rows, [*features, *power.values()])
    if lags:  # the window before a row may be one in which the load changed
        rows = workloads_or_blocks(with_lags(frame, features, lags), spec.folds)
        features = lagged_names(features, lags)
    sets = {
        component: training_set(
            rows, features, component, column, group, intercept=output_type == "AbsPower", seed=spec.seed
        )
        for component, column in power.items()
    }
    say(
        f"train: {trainer_name} for {output_type} of {source} on {group}: {len(rows)} rows,"
        f" {rows['workload'].nunique()} workloads, {len(features)} features"
    )
    before = checkpoints(kept, part, spec, dict.fromkeys(power, features), rows["time"].min())
    previous = best_before(kept, part)
    said = previous.watts(rows, list(power)) if previous else None
    predictions = held_out(trainer, rows, sets, spec.folds, before, said)
    write_held_out(predictions, out / HELD_OUT)
    components = {
        component: Fitted.on(features, fit(trainer, data, before.get(component))) for component, data in sets.items()
    }
    model = PowerModel(trainer_name, spec.node_type, components)
    metadata: dict[str, Any] = {
        "output_type": output_type,
        "energy_source": source,
        "feature_group": group,
        "machine_spec": machine.model_dump(exclude_none=True) if machine else {},
        "machine_id": spec.machine_id,
        "continued": bool(before),
        "interval": intervals(predictions, spec.interval_level),
        "hull": hulls(model, rows, parts=output_type == "DynPower"),
        **about_rows(rows, trainer, sets, spec),
    }
    if chosen := getattr(trainer, "chosen", None):  # of a trainer that chooses among others, whom by component
        metadata["chosen"] = chosen
    if previous and said:
        metadata["previous"] = {"model": previous.model.name, "overlaps": previous.overlaps(rows["time"].min())}
    figures: Figures = {"rows": len(rows)}
    if output_type == "DynPower":
        errors = additivity_error(model, containers)
        metadata |= {"attribution": "additive" if trainer.additive else spec.attribution, "additivity_error": errors}
        figures["additivity_error"] = max(errors.values())
    save_model(model, out / MODEL, metadata, rows)
    return figures


def _features(rows: pd.DataFrame, group: str, third_party: list[str]) -> list[str]:
    """The columns of a feature group; one that it cannot do without is named with what is wrong with it."""
    found = select_group(rows, group, third_party)
    if found.missing:
        check_numbers(rows, [name for name in found.missing if name in rows.columns])  # there, but not in every row
        raise DataError(f"The data have no {', '.join(found.missing)} of feature group {group}: choose another group.")
    return found.columns


def check_numbers(rows: pd.DataFrame, columns: list[str]) -> None:
    """Refuse columns that are not numbers throughout: a row without a value is no row to learn from."""
    lacking = {name: int((~np.isfinite(rows[name].to_numpy(dtype=np.float64))).sum()) for name in columns}
    named = [f"{name} in {count}" for name, count in lacking.items() if count]
    if named:
        raise DataError(f"Of {len(rows)} rows some have no value: {', '.join(named)}. Leave these rows or columns out.")


def _power_columns(frame: pd.DataFrame, source: str) -> dict[str, str]:
    """The power column of each component that the source measured."""
    columns = {component: f"{source}/{component}_power" for component in catalog().source(source).components}
    there = {component: column for component, column in columns.items() if column in frame.columns}
    if not there:
        raise DataError(f"The data have no power of {source}: choose a source that was collected.")
    return there


def _of_the_asked_nodes(frame: pd.DataFrame, spec: RunSpec) -> pd.DataFrame:
    """Rows of the nodes to learn from; several nodes share a model only when the user says so."""
    nodes = sorted(frame["node"].unique())
    if len(nodes) > 1 and not spec.nodes:
        raise UserError(
            f"The data hold {len(nodes)} nodes ({', '.join(nodes)}): name those that are of one type and may share"
            " a model in nodes."
        )
    return frame[frame["node"].isin(spec.nodes)] if spec.nodes else frame
