"""A power model on disk: the folder `<trainer>_<node type>/` that other tools read.

| file | what |
|---|---|
| `metadata.json` | what it is and how good |
| `<model name>.json` | for each component its features, its file and how that is read |
| `<component>.json`, `.skops` | the model of a component |
| `<component>.onnx` | the same as a graph: `graphs` |
| `weight.json` | linear models and curves as Kepler reads them directly, boosters for other clients |
| `SHA256SUMS` | what every other file must hold |

Reading executes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kepler_train.errors import UserError
from kepler_train.events import warn
from kepler_train.models.archive import opened
from kepler_train.models.files import DETAILS, GRAPH, METADATA, WEIGHTS, read_bytes, read_json, write_json
from kepler_train.models.fitted import Fitted
from kepler_train.models.graphs import NoGraph
from kepler_train.models.kinds import read_component
from kepler_train.models.metadata import SCHEMA_VERSION, ModelMetadata, Parity, Training
from kepler_train.models.metadata_checks import check_features, check_metadata
from kepler_train.models.parity import check_parity
from kepler_train.models.power import PowerModel
from kepler_train.models.sums import check_sums, write_sums
from kepler_train.models.weights import weight_file
from kepler_train.records import later_version, validated
from kepler_train.strict_json import name_problem, shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METADATA", "WEIGHTS", "load_model", "read_metadata", "read_model", "save_model"]

_MOST_COMPONENTS = 100  # of a source; ours have up to 6


def save_model(model: PowerModel, folder: Path, training: Training, rows: pd.DataFrame) -> None:
    """Write the folder, and keep of it what predicts on `rows` what the trained model predicts.

    A format that does not is removed and named in the metadata; without the model's own files nothing is kept.
    """
    folder.mkdir(parents=True)
    files, refused = _write_components(model, folder)
    if weights := weight_file(model, training.machine_spec):
        write_json(folder / WEIGHTS, weights)
    _seal(folder, files, _metadata(model))
    parity = check_parity(model, folder, rows)
    refused |= parity.refused
    for name, reason in refused.items():
        (folder / name).unlink(missing_ok=True)
        warn(f"{model.name}: {name} is left out, because {reason}.")
    compared = Parity(rows=len(rows), watts=parity.largest)
    metadata = _metadata(model, parity=compared, refused_formats=refused, **dict(training.content()))
    kept = {component: _without(refused, entry) for component, entry in files.items()}
    _seal(folder, kept, metadata, changed=(metadata.model_file, METADATA))


def _metadata(model: PowerModel, **more: Any) -> ModelMetadata:
    return ModelMetadata(
        schema_version=SCHEMA_VERSION,
        model_name=model.name,
        trainer=model.trainer,
        model_class=model.model_class,
        model_file=f"{model.name}.json",
        features=model.features,
        fe_files=[],
        node_type=model.node_type,
        **more,
    )


def _without(refused: Mapping[str, str], entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if not (name == "graph_file" and value in refused)}


def _seal(
    folder: Path, files: Mapping[str, Any], metadata: ModelMetadata, changed: Collection[str] | None = None
) -> None:
    """Write the list of the components' files and the metadata, and vouch for all files."""
    write_json(folder / metadata.model_file, files)
    write_json(folder / METADATA, metadata.content())
    write_sums(folder, changed)


def _write_components(model: PowerModel, folder: Path) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Write the files of every component; return the list of them, and why a component has no graph."""
    files: dict[str, dict[str, Any]] = {}
    refused = {}
    for component, fitted in model.components.items():
        name = f"{component}{fitted.model.suffix}"
        fitted.model.save(folder / name)
        # Other tools look for `model_file`, which may become another one for them; this one is ours.
        own = {"file": name, "kind": fitted.model.kind}
        files[component] = {"model_file": name, "features": fitted.features, "fe_files": []} | own
        graph_file = f"{component}{GRAPH}"
        try:
            graph = fitted.model.graph(len(fitted.features))
        except NoGraph as error:
            refused[graph_file] = str(error)
            continue
        about = {"features": json.dumps(fitted.features), "component": component, "unit": "W"}
        for key, value in about.items():
            graph.metadata_props.add(key=key, value=value)
        (folder / graph_file).write_bytes(graph.SerializeToString(deterministic=True))
        files[component]["graph_file"] = graph_file
    return files, refused


def load_model(path: Path) -> PowerModel:
    """Read a model's folder or zip."""
    return read_model(path)[0]


def read_model(path: Path) -> tuple[PowerModel, ModelMetadata]:
    """Read a model's folder or zip with its metadata; refuse a file that was changed since it was written."""
    with opened(path) as folder:
        metadata = read_metadata(folder)
        vouched = check_sums(folder)
        try:
            entries = read_json(_vouched(folder, metadata.model_file, vouched))
            if not 0 < len(entries) <= _MOST_COMPONENTS:
                raise ValueError(f"a list of 1 to {_MOST_COMPONENTS} components")
            components = {name: _component(folder, name, entry, vouched) for name, entry in entries.items()}
            model = PowerModel(metadata.trainer, metadata.node_type, components)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} is not a model: {error} is missing or wrong.") from None
        if model.features != metadata.features:
            raise UserError(f"{path} is not a model: its {METADATA} and its components differ in features.")
        return model, metadata


def _component(folder: Path, component: str, entry: Mapping[str, Any], vouched: set[str]) -> Fitted:
    if problem := name_problem(component):
        raise ValueError(problem)
    features = check_features(entry["features"])
    file = _vouched(folder, entry["file"], vouched)
    return Fitted(features, read_component(entry["kind"], read_bytes(file), file, len(features)))


def _vouched(folder: Path, name: str, vouched: set[str]) -> Path:
    if name not in vouched:
        raise UserError(f"{folder} is not the folder of a model: {shown(name)} is not among the files it vouches for.")
    return folder / name


def read_metadata(folder: Path) -> ModelMetadata:
    """Read the metadata in a model's folder; refuse those of another version of the format, or of something else."""
    metadata = read_json(folder / METADATA)
    written = metadata.get("schema_version")
    if isinstance(written, str) and written.isdecimal() and len(written) < 10:
        written = int(written)
    if "model_file" not in metadata:  # as that of a pipeline
        raise UserError(f"{folder} is not the folder of a model: its {METADATA} is of something else.")
    if not isinstance(written, int):
        raise UserError(f"{folder} is not the folder of a model: its {METADATA} names no version of the format.")
    if written > SCHEMA_VERSION:
        raise later_version(str(folder), written, SCHEMA_VERSION)
    if written != SCHEMA_VERSION:
        raise UserError(
            f"{folder} was written in version {written} of the format, which this kepler-train no longer reads"
            f" (it reads version {SCHEMA_VERSION}): train the model again."
        )
    details = read_json(folder / DETAILS) if metadata.pop("details", None) else {}
    where = f"The {METADATA} of {folder}"
    record = validated(ModelMetadata, metadata | details, where)
    check_metadata(record, where)
    return record
