"""Reload saved models and predict with every format, in a process that trained nothing.

`python -m kepler_train.models.reload` reads a request per line and writes a response per line, both JSON, until its
input ends. A request `{"folder": …, "features": […], "columns": …, "answer": …}` names a model, a file with a column
per feature, and the file to write predictions to.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kepler_train.errors import KeplerTrainError
from kepler_train.models.artifact import load_model
from kepler_train.models.boosters import read_booster
from kepler_train.models.component import Matrix, Vector, Watts
from kepler_train.models.files import GRAPH, WEIGHTS, read_json
from kepler_train.models.graphs import INPUT, OUTPUT
from kepler_train.models.power import PowerModel
from kepler_train.models.reload_process import NATIVE, Predictions
from kepler_train.models.trees import TreesModel
from kepler_train.models.weights import watts_of_weights

if TYPE_CHECKING:
    import xgboost

# Rows per call of a graph: those of nearest rows compute a number for each pair of a row and a row of training, which
# stay in the cache when rows are few.
_BATCH = 100


def predict_formats(folder: Path, columns: Mapping[str, Vector]) -> Predictions:
    """Return what each format of a model predicts."""
    predictions = Predictions({}, {})
    try:
        model = load_model(folder)
        predictions.watts.update({(NATIVE, component): watts for component, watts in model.watts(columns).items()})
    except KeplerTrainError as error:
        predictions.errors[NATIVE] = str(error)
        return predictions
    weights = read_json(folder / WEIGHTS) if (folder / WEIGHTS).exists() else None
    booster_of = _booster_reader(folder, model)
    for component, fitted in model.components.items():
        graph = folder / f"{component}{GRAPH}"
        if graph.exists():
            rows = np.column_stack([columns[feature] for feature in fitted.features])
            _add_format(predictions, graph.name, component, partial(_graph_watts, graph, rows))
        if weights is not None:
            watts = partial(watts_of_weights, weights, component, columns, booster_of)
            _add_format(predictions, WEIGHTS, component, watts)
    return predictions


def _booster_reader(folder: Path, model: PowerModel) -> Callable[[bytes, int], xgboost.Booster]:
    """Return the reader of boosters in a weight file.

    Bytes that are a file of the model too are loaded already: reading them again is some 3 % of the CPU time to
    fit and save the ten plain trainers.
    """
    loaded = {
        (folder / f"{component}{fitted.model.suffix}").read_bytes(): fitted.model.booster
        for component, fitted in model.components.items()
        if isinstance(fitted.model, TreesModel)
    }
    return lambda content, features: loaded.get(content) or read_booster(content, WEIGHTS, features)


def _add_format(predictions: Predictions, name: str, component: str, predict: Callable[[], Watts]) -> None:
    """Add what a format predicts, or why it cannot be read."""
    try:
        predictions.watts[name, component] = predict()
    except Exception as error:  # whatever a runtime says of a file that it cannot read
        predictions.errors[name] = f"it cannot be read: {' '.join(str(error).split())[:300]}"


def _graph_watts(file: Path, rows: Matrix) -> Watts:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it would keep a device id and events below the home
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file.read_bytes(), options, providers=["CPUExecutionProvider"])
    single = rows.astype(np.float32)
    batches = (single[start : start + _BATCH] for start in range(0, len(single), _BATCH))
    return np.concatenate([session.run([OUTPUT], {INPUT: batch})[0][:, 0] for batch in batches], dtype=np.float64)


def _respond(request: Mapping[str, Any]) -> dict[str, Any]:
    columns = dict(zip(request["features"], np.load(request["columns"]), strict=True))
    predictions = predict_formats(Path(request["folder"]), columns)
    np.save(request["answer"], np.array(list(predictions.watts.values())))
    return {"watts": list(predictions.watts), "errors": predictions.errors}


def main() -> None:
    """Respond to requests until the input ends."""
    gc.set_threshold(10_000)  # the libraries' many objects are no garbage, and scanning them takes time
    # What libraries print to stdout must not look like a response.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as responses:
        os.dup2(2, 1)
        for line in sys.stdin:
            print(json.dumps(_respond(json.loads(line))), file=responses, flush=True)


if __name__ == "__main__":
    main()
