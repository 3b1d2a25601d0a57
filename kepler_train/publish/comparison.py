"""Two versions of a pipeline side by side: errors, data, features and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kepler_train import strict_json
from kepler_train.errors import UserError
from kepler_train.export.arguments import ARGUMENTS
from kepler_train.models.files import METADATA
from kepler_train.publish.target import Target
from kepler_train.publish.version_record import VersionRecord

_OF_DATA = ("machine_id", "nodes", "prometheus", "start", "end", "schedule", "dialect", "node_type")


class Difference(NamedTuple):
    """What two versions have of a thing; None where one has none of it."""

    section: str
    name: str
    before: Any
    after: Any

    @property
    def changed(self) -> bool:
        """Tell whether they differ."""
        return bool(self.before != self.after)


def compare_versions(target: Target, pipeline: str, before: VersionRecord, after: VersionRecord) -> list[Difference]:
    """Return everything that two versions have, by section, those that differ and those that do not."""
    sides = [_facts(target, pipeline, record) for record in (before, after)]
    rows = []
    for section in ("errors", "data", "features", "settings"):
        left, right = (side[section] for side in sides)
        rows += [Difference(section, name, left.get(name), right.get(name)) for name in {**left, **right}]
    return rows


def _facts(target: Target, pipeline: str, record: VersionRecord) -> dict[str, dict[str, Any]]:
    home = f"{pipeline}/{record.version}"
    arguments = _json(target, f"{home}/{ARGUMENTS}")
    errors: dict[str, Any] = {}
    data: dict[str, Any] = {"models": record.models, "node types": record.node_types}
    features: dict[str, Any] = {}
    for family, figure in record.errors.items():
        errors[f"{family} MAE (W)"] = round(figure.mae, 3)
        errors[f"{family} MAPE (%)"] = None if figure.mape is None else round(figure.mape, 2)
        errors[f"{family} best model"] = figure.model
        metadata = _json(target, f"{home}/{figure.model}/{METADATA}")
        features[family] = metadata.get("features")
        data[f"{family} rows"] = metadata.get("rows")
        data[f"{family} workloads"] = sorted(metadata.get("workloads", {})) or None
    data |= {name: arguments[name] for name in _OF_DATA if name in arguments}
    settings = {name: value for name, value in arguments.items() if name not in _OF_DATA}
    return {"errors": errors, "data": data, "features": features, "settings": settings}


def _json(target: Target, key: str) -> Mapping[str, Any]:
    """Return the content of a JSON file of a version; nothing where there is none."""
    content = target.store.read(key)
    found = {} if content is None else strict_json.read(content, f"{target.uri}/{key}")
    if not isinstance(found, dict):
        raise UserError(f"{target.uri}/{key} cannot be read: it is not an object.")
    return found
