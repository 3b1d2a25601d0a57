"""A power model on disk: the folder `<trainer>_<node type>/` that other tools read.

`metadata.json` says what it is and how good, `<model name>.json` names the file of each component, `weight.json` is
what Kepler reads directly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kepler_train.errors import DataError, UserError
from kepler_train.models.component import Matrix, ModelClass, Watts
from kepler_train.models.kinds import load_component
from kepler_train.models.narrow import Fitted
from kepler_train.workspace.manifest import sha256_of

SCHEMA_VERSION = 2
METADATA, WEIGHTS = "metadata.json", "weight.json"
# A saved model may differ from the trained one by at most this (W), or this share.
PARITY_WATTS, PARITY_SHARE = 0.01, 1e-4


@dataclass(frozen=True)
class PowerModel:
    """One model per component, each over features of its own."""

    trainer: str
    node_type: int
    components: Mapping[str, Fitted]

    @property
    def name(self) -> str:
        """`<trainer>_<node type>`."""
        return f"{self.trainer}_{self.node_type}"

    @property
    def features(self) -> list[str]:
        """Every feature that a component looks at."""
        return sorted({feature for fitted in self.components.values() for feature in fitted.features})

    @property
    def model_class(self) -> ModelClass:
        """How clients of other tools read the model, when all its components are read alike."""
        classes = {fitted.model.model_class for fitted in self.components.values()}
        return classes.pop() if len(classes) == 1 else "kepler-train"

    def predict(self, frame: pd.DataFrame) -> dict[str, Watts]:
        """Power (W) by component for every row; the frame's columns may come in any order."""
        missing = [feature for feature in self.features if feature not in frame.columns]
        if missing:
            raise UserError(f"The model {self.name} needs {', '.join(missing)}, which the data do not have.")
        return {
            component: fitted.model.predict(_matrix(frame, fitted)) for component, fitted in self.components.items()
        }


def _matrix(frame: pd.DataFrame, fitted: Fitted) -> Matrix:
    return frame[fitted.features].to_numpy(dtype=np.float64)


def save_model(model: PowerModel, folder: Path, metadata: Mapping[str, Any], rows: pd.DataFrame) -> None:
    """Write the folder, load it again, and refuse it unless it predicts what the trained model predicts on `rows`."""
    folder.mkdir(parents=True)
    files = {}
    for component, fitted in model.components.items():
        name = f"{component}{fitted.model.suffix}"
        fitted.model.save(folder / name)
        files[component] = {
            "model_file": name,
            "kind": fitted.model.kind,
            "features": fitted.features,
            "fe_files": [],
        }
    _write(folder / f"{model.name}.json", files)
    if weights := weight_file(model, metadata.get("machine_spec", {})):
        _write(folder / WEIGHTS, weights)
    written = sorted(folder.iterdir())
    own = {
        "schema_version": SCHEMA_VERSION,
        "model_name": model.name,
        "trainer": model.trainer,
        "model_class": model.model_class,
        "model_file": f"{model.name}.json",
        "features": model.features,
        "fe_files": [],
        "node_type": model.node_type,
        "sha256": {file.name: sha256_of(file) for file in written},
    }
    _write(folder / METADATA, own | dict(metadata))
    _check_parity(model, load_model(folder), rows)


def load_model(folder: Path) -> PowerModel:
    """Read a model's folder; nothing in it is executed, and a file that was changed since is refused."""
    metadata = _read(folder / METADATA)
    if metadata.get("schema_version") != SCHEMA_VERSION:
        raise UserError(f"{folder} was written by another version of kepler-train: it cannot be read by this one.")
    try:
        files = _read(_unchanged(folder, metadata["model_file"], metadata))
        components = {
            name: Fitted(
                entry["features"],
                load_component(
                    entry["kind"], _unchanged(folder, entry["model_file"], metadata), len(entry["features"])
                ),
            )
            for name, entry in files.items()
        }
        return PowerModel(metadata["trainer"], metadata["node_type"], components)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder} is not the folder of a model: {error} is missing or wrong.") from None


def _unchanged(folder: Path, name: str, metadata: Mapping[str, Any]) -> Path:
    """A file that the metadata name, with the content that they vouch for."""
    expected = metadata["sha256"][name]
    file = folder / name
    if file.parent != folder or not file.is_file() or sha256_of(file) != expected:
        raise UserError(f"{file} is not the file that was saved with this model: it was changed or is missing.")
    return file


def weight_file(model: PowerModel, machine_spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """What Kepler reads directly; None when a component is of a kind that Kepler does not have.

    Without `model_name` Kepler takes a curve for a linear model, or panics.
    """
    entries = {
        component: weights
        for component, fitted in model.components.items()
        if (weights := fitted.model.weights(fitted.features)) is not None
    }
    if len(entries) < len(model.components):
        return None
    return {"model_name": model.name, "machine_spec": dict(machine_spec)} | entries


def _check_parity(trained: PowerModel, loaded: PowerModel, rows: pd.DataFrame) -> None:
    """What is served is what was judged."""
    now = loaded.predict(rows)
    for component, before in trained.predict(rows).items():
        off = np.abs(now[component] - before)
        worst = float(np.max(off - PARITY_SHARE * np.abs(before), initial=0.0))
        if not worst <= PARITY_WATTS:  # also refuses NaN
            raise DataError(
                f"The saved model {trained.name} predicts {component} power that differs by up to {off.max():.3g} W"
                " from the trained one: it is not kept."
            )


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, allow_nan=False, indent=1), encoding="utf-8")


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{file.parent} is not the folder of a model: {file.name} is missing.") from None
    except ValueError as error:
        raise UserError(f"{file} is cut short or not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise UserError(f"{file.parent} is not the folder of a model: {file.name} is something else.")
    return content
