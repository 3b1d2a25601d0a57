"""Files that clients of kepler-model-server 0.7 load. They are pickles, which we write on request and never read.

Such a client reads `metadata.json`, then the `model_file` and the `fe_files` of each component in `<model name>.json`:
`scaler.pkl` and others transform the features, `<component>.pkl` predicts, and what is below 0 W counts as 0 W. It
takes every object inside `metadata.json` for another model, so they move to a file of their own.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from kepler_train.models.artifact import load_model, read_metadata
from kepler_train.models.component import ComponentModel
from kepler_train.models.estimator import EstimatorModel
from kepler_train.models.files import DETAILS, METADATA, read_json, write_json
from kepler_train.models.linear import LinearModel
from kepler_train.models.sums import write_sums
from kepler_train.models.trees import TreesModel

# Read by every Python 3. Its names of modules are plain lines.
_PROTOCOL = 2


def add_pickles(folder: Path) -> str:
    """Add the pickles of a model to its folder; return why it cannot have them, or nothing."""
    model, metadata = load_model(folder), read_metadata(folder)
    strange = {type(fitted.model).__name__ for fitted in model.components.values() if not _readable(fitted.model)}
    if strange or model.model_class == "kepler-train":
        kinds = ", ".join(sorted(strange)) or "a mix of kinds"
        return f"clients of kepler-model-server have no such model without code of theirs or ours ({kinds})"
    files = read_json(folder / metadata.model_file)
    for component, fitted in model.components.items():
        if not isinstance(fitted.model, TreesModel):  # which they read as XGBoost's own JSON
            before, last = _steps(fitted.model)
            files[component]["fe_files"] = [_write(folder, component, *step) for step in before.items()]
            files[component]["model_file"] = _write(folder, component, component, last)
    write_json(folder / metadata.model_file, files)
    content = metadata.content()
    details = {name: value for name, value in content.items() if _has_object(value)}
    write_json(folder / DETAILS, details)
    flat = {name: value for name, value in content.items() if name not in details}
    write_json(folder / METADATA, flat | {"details": DETAILS})
    write_sums(folder)
    return ""


def _readable(model: ComponentModel) -> bool:
    return isinstance(model, LinearModel | EstimatorModel | TreesModel)


def _steps(model: ComponentModel) -> tuple[dict[str, Any], Any]:
    """Return what transforms the features, by the name of its file, and what predicts, as objects of scikit-learn."""
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import MaxAbsScaler

    if isinstance(model, LinearModel):
        count = len(model.scale)
        scaler, line = MaxAbsScaler(), LinearRegression()
        scaler.scale_ = scaler.max_abs_ = model.scale
        scaler.n_features_in_, scaler.n_samples_seen_ = count, 1
        line.coef_, line.intercept_, line.n_features_in_ = model.weight, np.float64(model.bias), count
        return {"scaler": scaler}, line
    estimator = model.estimator if isinstance(model, EstimatorModel) else None
    *before, (_, last) = getattr(estimator, "steps", [("", estimator)])
    return {"scaler" if isinstance(step, MaxAbsScaler) else name: step for name, step in before}, last


def _write(folder: Path, component: str, name: str, part: Any) -> str:
    """Write one object; return the name of its file, which components share when theirs is the same."""
    # NumPy 1 does not know the name that NumPy 2 has for this module; both know the old one.
    content = pickle.dumps(part, _PROTOCOL).replace(b"cnumpy._core.", b"cnumpy.core.")
    file = folder / f"{name}.pkl"
    if file.exists() and file.read_bytes() != content:
        file = folder / f"{component}_{name}.pkl"
    file.write_bytes(content)
    return file.name


def _has_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(_has_object(part) for part in value))
