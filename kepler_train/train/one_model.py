"""Train one model — a source, an output type, a feature group, a trainer — and predict its held-out rows."""

from __future__ import annotations

from pathlib import Path

from kepler_train.errors import DataError
from kepler_train.evaluate.judged import HELD_OUT, MODEL, ROWS
from kepler_train.evaluate.window_rows import features_of
from kepler_train.events import say
from kepler_train.model_key import ModelKey
from kepler_train.models import Fitted, PowerModel, save_model
from kepler_train.models.metadata import PreviousModel
from kepler_train.spec import RunSpec
from kepler_train.train.checkpoints import checkpoints
from kepler_train.train.held_out import fit, held_out
from kepler_train.train.metadata import training_of
from kepler_train.train.previous import best_before
from kepler_train.train.trainer import Trainer
from kepler_train.train.trainer import trainer as find_trainer
from kepler_train.train.training_rows import TrainingRows
from kepler_train.workspace import Figures


def windows_before(trainer: Trainer, key: ModelKey) -> int:
    """Return how many earlier windows a trainer is shown: containers come and go, so for DynPower none."""
    lags = trainer.lags if key.output_type == "AbsPower" else 0
    if trainer.lags and not lags and not getattr(trainer, "lags_optional", False):
        raise DataError(f"{trainer.name} looks at earlier windows, which a container may not have: it is for AbsPower.")
    return lags


def train_one(
    data: TrainingRows, containers: Path, spec: RunSpec, key: ModelKey, out: Path, kept: Path | None = None
) -> Figures:
    """Fit a model to rows of nodes, save and re-load it, and hold rows out by every protocol.

    `containers` are those that DynPower is to add up for, `kept` is where the plan put models published before.
    """
    trainer = find_trainer(key.trainer)
    rows, features, sets = data.rows, data.features, data.sets
    say(
        f"train: {key.trainer} for {key.output_type} of {key.source} on {key.group}: {len(rows)} rows,"
        f" {len(data.workloads)} workloads, {len(features)} features"
    )
    start = data.window[0]
    before = checkpoints(kept, key, spec, dict.fromkeys(sets, features), start)
    previous = best_before(kept, key, spec.settled_node_type)
    predictions = previous.watts(rows, list(sets)) if previous else None
    judged = held_out(trainer, rows, sets, spec.folds, before, predictions)
    judged.write(out / HELD_OUT)
    features_of(rows).to_parquet(out / ROWS, compression="zstd", index=False)
    components = {
        component: Fitted.select(features, fit(trainer, training_set, before.get(component)))
        for component, training_set in sets.items()
    }
    model = PowerModel(key.trainer, spec.settled_node_type, components)
    compared = PreviousModel(model=previous.model.name, overlaps=previous.overlaps(start)) if previous else None
    training = training_of(
        key, spec, data, trainer, model, judged, containers,
        continued=bool(before), previous=compared if predictions else None,
    )  # fmt: skip
    save_model(model, out / MODEL, training, rows)
    figures: Figures = {"rows": len(rows)}
    if key.output_type == "DynPower":
        errors = training.additivity_error
        figures["additivity_error"] = max(errors.values()) if errors else None
    return figures
