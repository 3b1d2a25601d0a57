"""Models of the public model database, trained by kepler-model-server 0.6 and 0.7, where that needs no pickle.

| file | read |
|---|---|
| `<model name>.json` beside a zip, `weight.json` in it | linear models, curves, boosters of XGBoost |
| `<component>.json` in a zip, features as they are | boosters of XGBoost |
| `<component>.pkl`, `scaler.pkl` | refused: reading a pickle runs the code in it |

Such a model has neither an interval nor a hull. What it is for is told by its place,
`<source>/<output type>/<feature group>/`, and by its metadata.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.errors import UserError
from kepler_train.model_key import trainer_of
from kepler_train.models.archive import opened
from kepler_train.models.boosters import read_booster
from kepler_train.models.component import ComponentModel
from kepler_train.models.curve import PARAMETERS, CurveLaw, CurveModel
from kepler_train.models.files import METADATA, WEIGHTS, read_bytes, read_json
from kepler_train.models.fitted import Fitted
from kepler_train.models.metadata import ModelMetadata
from kepler_train.models.metadata_checks import check_features, check_metadata
from kepler_train.models.numbers import SMALLEST_SCALE, number, vector
from kepler_train.models.power import PowerModel
from kepler_train.models.public_kinds import ClippedLinear, ScaledTrees
from kepler_train.strict_json import name_problem, shown

ORIGIN = "kepler-model-server"
_OUTPUT_TYPES = ("AbsPower", "DynPower")
_MOST_COMPONENTS = 100
_NO_COMPONENTS = ("model_name", "machine_spec")  # entries of weights
_LAWS: dict[str, CurveLaw] = {
    "LogarithmicRegressionTrainer": "logarithmic",
    "LogisticRegressionTrainer": "logistic",
    "ExponentialRegressionTrainer": "exponential",
}


def is_public_model(path: Path) -> bool:
    """Tell whether a path is that of weights, or of a model's folder or zip whose metadata name no version of ours."""
    if path.suffix == ".json" and path.is_file():
        return True
    with opened(path) as folder:
        metadata = read_json(folder / METADATA)
    return "model_file" in metadata and "schema_version" not in metadata


def read_public_model(path: Path) -> tuple[PowerModel, ModelMetadata]:
    """Read weights, or a model's folder or zip, with what is known of it; refuse what needs a pickle by its name."""
    try:
        if path.suffix == ".json" and path.is_file():
            return _model(path, {"model_name": path.stem} | _told(read_json(path)), read_json(path))
        with opened(path) as folder:
            about = read_json(folder / METADATA)
            weights = read_json(folder / WEIGHTS) if (folder / WEIGHTS).is_file() else _boosters(folder, path, about)
            return _model(path, about, weights)
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path} is not a model of {ORIGIN}: {reason}.") from None


def _told(weights: Mapping[str, Any]) -> dict[str, Any]:
    return {name: weights[name] for name in _NO_COMPONENTS if name in weights}


def _boosters(folder: Path, path: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the boosters of a folder in the form of weights; refuse components that need a pickle."""
    entries = read_json(folder / _plain_name(about["model_file"]))
    found = {}
    for component, entry in entries.items():
        for name in map(_plain_name, [entry["model_file"], *entry["fe_files"]]):
            if not name.endswith(".json"):
                raise _pickled(path, name)
        content = read_bytes(folder / _plain_name(entry["model_file"]))
        numerical = {name: {"scale": 1.0} for name in check_features(entry["features"])}
        found[component] = {
            "All_Weights": {"Numerical_Variables": numerical, "XGboost_Weights": base64.b64encode(content).decode()}
        }
    return found


def _pickled(path: Path, name: str) -> UserError:
    beside = path.with_suffix(".json")
    instead = f"name its weights, {beside}" if beside.is_file() else "take one with weights, or of XGBoost"
    return UserError(
        f"{path} needs {name}, which is a pickle: reading one runs the code in it, so kepler-train reads none. To"
        f" estimate with a model of {ORIGIN}, {instead}."
    )


def _plain_name(name: Any) -> str:
    if not isinstance(name, str) or name_problem(name) or "/" in name or name in (".", ".."):
        raise ValueError(f"{shown(name)} is not the name of a file")
    return name


def _model(path: Path, about: Mapping[str, Any], weights: Mapping[str, Any]) -> tuple[PowerModel, ModelMetadata]:
    """Return the model of weights."""
    name = about["model_name"]
    if not isinstance(name, str) or not name.rpartition("_")[2].isdecimal() or len(name) > 200:
        raise ValueError(f"{shown(name)} is not <trainer>_<node type>")
    trainer, node_type = trainer_of(name), int(name.rpartition("_")[2])
    components = [component for component in weights if component not in _NO_COMPONENTS]
    if not 0 < len(components) <= _MOST_COMPONENTS:
        raise ValueError("it has no list of components")
    group = _feature_group(path, [_variables(weights[component]) for component in components])
    fitted = {component: _fitted(path, component, weights[component], trainer, group) for component in components}
    model = PowerModel(trainer, node_type, fitted)
    metadata = ModelMetadata(
        schema_version=0,
        model_name=name,
        trainer=trainer,
        model_class=model.model_class,
        model_file=f"{name}.json",
        features=model.features,
        fe_files=[],
        node_type=node_type,
        output_type=_output_type(path, about),
        energy_source=_source(path, components),
        feature_group=group,
        machine_spec=_object(about.get("machine_spec", {})),
        main_features={component: _main_feature(own.features, group, component) for component, own in fitted.items()},
        mae=_error(about.get("mae")),
        mape=_error(about.get("mape")),
        origin=ORIGIN,
    )
    check_metadata(metadata, str(path))
    return model, metadata


def _variables(entry: Any) -> dict[str, Any]:
    """Return the features of a component by today's names, each with its scale (1/s) and weight."""
    numerical = _object(_object(_object(entry)["All_Weights"])["Numerical_Variables"])
    if _object(entry["All_Weights"].get("Categorical_Variables", {})):
        raise ValueError("it has categorical variables")
    aliases, variables = catalog().feature_aliases, {}
    for name in check_features(list(numerical)):
        variable = _object(numerical[name])
        if number(variable.get("mean", 0)) or number(variable.get("variance", 0)):
            raise ValueError(f"its feature {name} is shifted, not only scaled")
        scale, alias = number(variable["scale"], least=SMALLEST_SCALE), aliases.get(name)
        # The scale is in the unit of the name that the model knows.
        variables[alias.feature if alias else name] = variable | {"scale": scale * (alias.factor if alias else 1)}
    if len(variables) < len(numerical):
        raise ValueError("a feature is there by two names")
    return variables


def _fitted(path: Path, component: str, entry: Mapping[str, Any], trainer: str, group: str) -> Fitted:
    if problem := name_problem(component):
        raise ValueError(problem)
    variables, weights = _variables(entry), entry["All_Weights"]
    features, scale = list(variables), np.array([own["scale"] for own in variables.values()])
    model: ComponentModel
    if "XGboost_Weights" in weights:
        content = base64.b64decode(_text(weights["XGboost_Weights"]), validate=True)
        model = ScaledTrees(read_booster(content, f"{component} of {path}", len(features)), scale)
    elif "CurveFit_Weights" in weights:
        if trainer not in _LAWS:
            raise ValueError(f"{trainer} is no trainer of curves")
        law, main = _LAWS[trainer], _main_feature(features, group, component)
        parameters = vector(weights["CurveFit_Weights"], len(PARAMETERS[law])).tolist()
        return Fitted([main], CurveModel(law, tuple(parameters), variables[main]["scale"]))
    else:
        weight = np.array([number(own["weight"]) for own in variables.values()])
        model = ClippedLinear(number(weights["Bias_Weight"]), weight, scale)
    return Fitted(features, model)


def _main_feature(features: list[str], group: str, component: str) -> str:
    """Return the feature that a curve is over, and that stands for the load of a component."""
    entry = catalog().group(group)
    wanted = (entry.main_dram or entry.main) if component == "dram" else entry.main
    return wanted if wanted in features else features[0]


def _folders(path: Path) -> list[str]:
    """Return the names of the folders that a model is in: `<source>/<output type>/<feature group>` in a database."""
    return ["", "", "", *path.absolute().parent.parts][-3:]


def _feature_group(path: Path, variables: Iterable[Mapping[str, Any]]) -> str:
    """Return the feature group: the folder of the model, else the smallest group with all features."""
    if (place := _folders(path)[2]) in catalog().feature_groups:
        return place
    features = {name for own in variables for name in own}
    fitting = {
        name: len(own) for name in catalog().feature_groups if features <= set(own := catalog().features_of(name))
    }
    if not fitting:
        raise ValueError(f"no feature group has {', '.join(sorted(features))}")
    return min(fitting, key=lambda name: fitting[name])


def _output_type(path: Path, about: Mapping[str, Any]) -> str:
    place = _folders(path)[1]
    output_type = about.get("output_type") or (place if place in _OUTPUT_TYPES else None)
    if output_type not in _OUTPUT_TYPES:
        raise ValueError(
            "it does not say whether it is of AbsPower or DynPower; keep it in its folder"
            " <source>/<output type>/<feature group>"
        )
    return str(output_type)


def _source(path: Path, components: Iterable[str]) -> str:
    """Return the energy source: the folder of the model, else one that has its components."""
    place = _folders(path)[0]
    if place == "rapl" or place in catalog().energy_sources:
        return catalog().served_source(place)
    fitting = [name for name, source in catalog().energy_sources.items() if set(components) <= set(source.components)]
    if not fitting:
        raise ValueError(f"no energy source has {', '.join(map(shown, components))}")
    return fitting[0]


def _error(value: Any) -> float | None:
    """Return an error (W, %); earlier tools write -1 for none."""
    return None if value is None or number(value) < 0 else number(value)


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise ValueError(f"{shown(value)} is in the place of an object")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is in the place of a text")
    return value
