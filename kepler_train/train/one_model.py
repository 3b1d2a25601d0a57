"""Train one model — a source, an output type, a feature group, a trainer — and predict its held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kepler_train.errors import DataError
from kepler_train.estimate.sharing import ADDITIVE
from kepler_train.evaluate.additivity import additivity_error
from kepler_train.evaluate.intervals import intervals
from kepler_train.evaluate.judged import HELD_OUT, MODEL
from kepler_train.events import say
from kepler_train.isolate.isolation import attributed_file
from kepler_train.models import Fitted, PowerModel, save_model
from kepler_train.spec import RunSpec
from kepler_train.train.about import about_rows, hulls, sharing
from kepler_train.train.checkpoints import checkpoints
from kepler_train.train.held_out import fit, held_out
from kepler_train.train.previous import best_before
from kepler_train.train.rows import TrainingRows
from kepler_train.train.trainer import Trainer
from kepler_train.train.trainer import trainer as find_trainer
from kepler_train.train.training_rows import Frames
from kepler_train.workspace import Figures


def train_part(
    frames: Frames, isolated: Path, part: str, spec: RunSpec, out: Path, kept: Path | None = None
) -> Figures:
    """Fit a model on frames, save and re-load it, and hold rows out by every protocol.

    `kept` is where the plan put the models that were published before.
    """
    _, _, group, trainer_name = part.split("/")
    data = frames.rows_for(part, windows_before(find_trainer(trainer_name), part))
    return train_one(data, isolated / attributed_file(group), spec, part, out, kept)


def windows_before(trainer: Trainer, part: str) -> int:
    """How many earlier windows a trainer is shown: containers come and go, so for DynPower none."""
    lags = trainer.lags if part.split("/")[1] == "AbsPower" else 0
    if trainer.lags and not lags and not getattr(trainer, "lags_optional", False):
        raise DataError(f"{trainer.name} looks at earlier windows, which a container may not have: it is for AbsPower.")
    return lags


def train_one(
    data: TrainingRows, containers: Path, spec: RunSpec, part: str, out: Path, kept: Path | None = None
) -> Figures:
    """Train on rows of nodes; `containers` are those that DynPower is to add up for."""
    source, output_type, group, trainer_name = part.split("/")
    trainer = find_trainer(trainer_name)
    rows, features, sets = data.rows, data.features, data.sets
    say(
        f"train: {trainer_name} for {output_type} of {source} on {group}: {len(rows)} rows,"
        f" {len(data.workloads)} workloads, {len(features)} features"
    )
    before = checkpoints(kept, part, spec, dict.fromkeys(sets, features), data.window[0])
    previous = best_before(kept, part)
    said = previous.watts(rows, list(sets)) if previous else None
    predictions = held_out(trainer, rows, sets, spec.folds, before, said)
    predictions.write(out / HELD_OUT)
    components = {
        component: Fitted.select(features, fit(trainer, own, before.get(component))) for component, own in sets.items()
    }
    model = PowerModel(trainer_name, spec.node_type, components)
    metadata: dict[str, Any] = {
        "output_type": output_type,
        "energy_source": source,
        "feature_group": group,
        "machine_spec": data.machine.model_dump(exclude_none=True) if data.machine else {},
        "machine_id": spec.machine_id,
        "continued": bool(before),
        "interval": intervals(predictions, spec.interval_level),
        "hull": hulls(model, data, parts=output_type == "DynPower"),
        **about_rows(data, trainer, spec),
    }
    if chosen := getattr(trainer, "chosen", None):  # of a trainer that chooses among others, whom by component
        metadata["chosen"] = chosen
    if left_out := getattr(trainer, "left_out", None):  # and whom it did without, because they failed
        metadata["left_out"] = left_out
    if previous and said:
        metadata["previous"] = {"model": previous.model.name, "overlaps": previous.overlaps(data.window[0])}
    figures: Figures = {"rows": len(rows)}
    if output_type == "DynPower":
        errors = additivity_error(model, containers)
        metadata["additivity_error"] = errors
        metadata["attribution"] = ADDITIVE if trainer.additive else spec.attribution
        if not trainer.additive:
            metadata["sharing"] = sharing(data, spec.attribution, group)
        figures["additivity_error"] = max(errors.values()) if errors else None
    save_model(model, out / MODEL, metadata, rows)
    return figures
