"""The decision whether training goes on from an earlier model of the same trainer, and its reason.

It starts afresh where the earlier model is of another trainer or node type, was made with other settings, or has seen
rows of the present window: those that are held out now would flatter it. A component starts afresh alone where its
features differ, or where it has as many trees as a model may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, PowerModel, TreesModel
from kepler_train.models.metadata import Training


def go_on(
    before: PowerModel,
    metadata: Training,
    trainer: str,
    node_type: int,
    features: Mapping[str, list[str]],
    start: datetime,
) -> tuple[dict[str, ComponentModel], str]:
    """Return the models to go on from, by component, and a sentence on them.

    `features` are those of the rows now, which begin at `start`.
    """
    if why := _afresh(before, metadata, trainer, node_type, start):
        return {}, f"training starts afresh and not from {before.name}, because {why}"
    reasons = {component: _differs(before, component, names) for component, names in features.items()}
    models = {name: before.components[name].model for name, why in reasons.items() if not why}
    afresh = "; ".join(f"{name} starts afresh, because {why}" for name, why in reasons.items() if why)
    going = f"training goes on from {before.name} for {', '.join(models)}" if models else ""
    return models, "; ".join(part for part in (going, afresh) if part)


def _afresh(before: PowerModel, metadata: Training, trainer: str, node_type: int, start: datetime) -> str | None:
    if before.trainer != trainer:
        return f"that is of {before.trainer}"
    if before.node_type != node_type:
        return f"that is of node type {before.node_type} and not {node_type}"
    if metadata.end is None or metadata.end >= start:
        return "it has seen rows that are held out now"
    entry = catalog().trainers.get(trainer)
    if entry and any(metadata.settings.get(name) != value for name, value in entry.settings.items()):
        return "it was made with other settings"
    return None


def _differs(before: PowerModel, component: str, features: list[str]) -> str | None:
    fitted = before.components.get(component)
    if fitted is None:
        return "it is new"
    if fitted.features != features:
        return f"its features were {', '.join(fitted.features)}"
    entry = catalog().trainers.get(before.trainer)
    if isinstance(fitted.model, TreesModel) and entry and "max_trees" in entry.settings:
        trees, most = fitted.model.booster.num_boosted_rounds(), entry.settings["max_trees"]
        if trees + entry.settings["n_estimators"] > most:
            return f"it has {trees} trees already, and a model may have {most}"
    return None
