"""Metadata of a model from a file: names are names, numbers of a sane size, and times are times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from pydantic import ValidationError

from kepler_train.errors import UserError, first_problem
from kepler_train.machine.spec import MachineSpec
from kepler_train.model_key import model_name
from kepler_train.models.hull import Hull
from kepler_train.models.lags import MOST_FEATURES, feature_problem
from kepler_train.models.metadata import ModelMetadata
from kepler_train.models.numbers import number, whole
from kepler_train.strict_json import name_problem, shown

_MOST_NODE_TYPE = 999_999_999


def check_metadata(metadata: ModelMetadata, where: str) -> None:
    """Refuse metadata that no training writes, in one sentence."""
    try:
        _check_identity(metadata)
        _check_training(metadata)
    except (ValueError, UserError) as error:
        raise UserError(f"{where} cannot be read: {str(error).rstrip('.')}.") from None


def _check_identity(metadata: ModelMetadata) -> None:
    whole(metadata.node_type, 0, _MOST_NODE_TYPE)
    _check_names(metadata.trainer, metadata.model_name, metadata.model_file)
    if metadata.model_name != model_name(metadata.trainer, metadata.node_type):
        raise ValueError(f"{shown(metadata.model_name)} is not <trainer>_<node type>")
    check_features(metadata.features)


def _check_training(metadata: ModelMetadata) -> None:
    labels = (metadata.output_type, metadata.energy_source, metadata.feature_group, metadata.machine_id)
    _check_names(*filter(None, labels))
    whole(metadata.rows, 0, 2**63 - 1)
    if metadata.window:
        _check_window(metadata.window)
    for component, interval in metadata.interval.items():
        _check_names(component)
        number(interval.level, 0, 1)
        number(interval.constant, 0)
        number(interval.share, 0)
    for component, hull in metadata.hull.items():
        _check_names(component)
        Hull.read(hull)
    _check_features(metadata.main_features.values())
    for component, weights in metadata.sharing.items():
        _check_names(component)
        _check_features(weights)
        for weight in weights.values():
            number(weight, 0)
    try:
        MachineSpec.model_validate(metadata.machine_spec)
    except ValidationError as error:
        raise ValueError(f"machine_spec: {': '.join(first_problem(error))}") from None


def check_features(features: object) -> list[str]:
    """Return a list of features; raise ValueError where it is none, or has names that are none."""
    if not isinstance(features, list) or not 0 < len(features) <= MOST_FEATURES:
        raise ValueError(f"a list of 1 to {MOST_FEATURES} features")
    _check_features(features)
    if len(set(features)) < len(features):
        raise ValueError("a feature is there twice")
    return features


def _check_features(names: Iterable[object]) -> None:
    if problem := next(_problems(names), None):
        raise ValueError(problem)


def _problems(names: Iterable[object]) -> Iterator[str]:
    return (problem for name in names if (problem := feature_problem(name)))


def _check_names(*names: str) -> None:
    for name in names:
        if problem := name_problem(name):
            raise ValueError(problem)


def _check_window(window: list[str]) -> None:
    """Refuse anything else than the times of the first and the last row."""
    try:
        start, end = map(datetime.fromisoformat, window)
        in_order = start <= end
    except (ValueError, TypeError):
        in_order = False
    if not in_order or start.tzinfo is None:
        raise ValueError("window is not the times of the first and the last row")
