"""A process that trained nothing: reads saved models from their files and says what each format predicts.

`python -m kepler_train.models.check` answers a line of JSON for each line that it is given, until there are no more:
`{"folder": …, "features": […], "columns": …, "answer": …}` names a model, a file with a column per feature and the
file to write.
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
from kepler_train.models.component import Matrix, Watts
from kepler_train.models.files import GRAPH, WEIGHTS, read_json
from kepler_train.models.fresh import NATIVE, Predictions
from kepler_train.models.graphs import INPUT, OUTPUT
from kepler_train.models.power import PowerModel
from kepler_train.models.trees import TreesModel
from kepler_train.models.weights import read_booster, watts_of_weights

if TYPE_CHECKING:
    import xgboost

# Rows that a graph is given at once: some hold a number for each pair of a row and a row of training, and those of
# few rows stay in the cache.
_BATCH = 100


def predictions(folder: Path, columns: Mapping[str, Watts]) -> Predictions:
    """What each format of a model predicts."""
    found = Predictions({}, {})
    try:
        model = load_model(folder)
        found.watts.update({(NATIVE, component): watts for component, watts in model.watts(columns).items()})
    except KeplerTrainError as error:
        found.errors[NATIVE] = str(error)
        return found
    weights = read_json(folder / WEIGHTS) if (folder / WEIGHTS).exists() else None
    booster_of = _reader(folder, model)
    for component, fitted in model.components.items():
        graph = folder / f"{component}{GRAPH}"
        if graph.exists():
            rows = np.column_stack([columns[feature] for feature in fitted.features])
            _note(found, graph.name, component, partial(_graph_watts, graph, rows))
        if weights is not None:
            _note(found, WEIGHTS, component, partial(watts_of_weights, weights, component, columns, booster_of))
    return found


def _reader(folder: Path, model: PowerModel) -> Callable[[bytes], xgboost.Booster]:
    """What reads the boosters of a weight file; bytes that are in a file of the model too were read from there."""
    known = {
        (folder / f"{component}{fitted.model.suffix}").read_bytes(): fitted.model.booster
        for component, fitted in model.components.items()
        if isinstance(fitted.model, TreesModel)
    }
    return lambda content: known.get(content) or read_booster(content)


def _note(found: Predictions, name: str, component: str, watts: Callable[[], Watts]) -> None:
    """Add what a format predicts, or what is wrong with it."""
    try:
        found.watts[name, component] = watts()
    except Exception as error:  # whatever a runtime says of a file that it cannot read
        found.errors[name] = f"it cannot be read: {' '.join(str(error).split())[:300]}"


def _graph_watts(file: Path, rows: Matrix) -> Watts:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file.read_bytes(), options, providers=["CPUExecutionProvider"])
    single = rows.astype(np.float32)
    pieces = [session.run([OUTPUT], {INPUT: single[at : at + _BATCH]})[0] for at in range(0, len(single), _BATCH)]
    return np.concatenate([piece[:, 0] for piece in pieces], dtype=np.float64)


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    columns = dict(zip(request["features"], np.load(request["columns"]), strict=True))
    found = predictions(Path(request["folder"]), columns)
    np.save(request["answer"], np.array(list(found.watts.values())))
    return {"watts": list(found.watts), "errors": found.errors}


def main() -> None:
    """Answer until the other side closes."""
    gc.set_threshold(10_000)  # of the libraries' objects, which are looked through again and again, none is garbage
    # What libraries print must not look like an answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            print(json.dumps(_answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
