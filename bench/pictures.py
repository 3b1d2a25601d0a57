"""What the pictures of a large run cost: 200 models of two sources, two output types, five groups and ten trainers.

Drawn are the picture on the card of every model and the pictures of the report. The rows are synthetic: 2,400 windows
under 12 loads for each of the 500 components, held out by two protocols.

python bench/pictures.py
"""

from __future__ import annotations

import os
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.evaluate.evaluation import Evaluation, ModelVerdict, TrainingSummary
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.pictures import draw_pictures
from kepler_train.export.pictures.held_out import draw_held_out
from kepler_train.model_key import ModelKey
from kepler_train.models.metadata import ErrorFigures

COMPONENTS = {"rapl-sysfs": ["package", "core", "uncore", "dram"], "acpi": ["platform"]}
GROUPS = ["BPFIRQ", "BPFOnly", "Basic", "CounterIRQCombined", "CounterOnly"]
TRAINERS = [f"Trainer{letter}" for letter in "ABCDEFGHIJ"]
WINDOWS, LOADS = 2400, 12
LIMIT = 15.0  # CPU s


def held_out_rows(source: str) -> HeldOut:
    """Return rows of 40 to 120 W that a model predicts with an error of 5 W."""
    random = np.random.default_rng(1)
    tables = []
    for component in COMPONENTS[source]:
        measured = random.uniform(40, 120, WINDOWS)
        rows = {
            "time": pd.Timestamp(0, tz="UTC"),
            "node": "node",
            "workload": np.repeat([f"load {number}" for number in range(LOADS)], WINDOWS // LOADS),
            "component": component,
            "load": 1e7 * measured,
            "measured": measured,
            "predicted": measured + random.normal(0, 5, WINDOWS),
        }
        tables += [pd.DataFrame(rows | {"protocol": name}) for name in (Protocol.BLOCKED, Protocol.WORKLOAD)]
    return HeldOut.of(pd.concat(tables))


def drawn_figures(mae: float) -> ErrorFigures:
    """Return the two figures (W) that pictures show."""
    return ErrorFigures.model_construct(mae=mae, mean_power=80.0)


def evaluation() -> Evaluation:
    """Return the figures of 200 models, no two of them alike."""
    models: dict[ModelKey, ModelVerdict] = {}
    for source, output_type, group, trainer in product(COMPONENTS, ("AbsPower", "DynPower"), GROUPS, TRAINERS):
        error = 5 + len(models) / 7
        figures = {
            str(protocol): {name: drawn_figures(times * error) for name in COMPONENTS[source]}
            for protocol, times in ((Protocol.BLOCKED, 1), (Protocol.WORKLOAD, 2))
        }
        training = TrainingSummary(main_features=dict.fromkeys(COMPONENTS[source], "cpu_instructions"))
        verdict = ModelVerdict(mae=error, mape=None, passes=True, refused="", figures=figures, training=training)
        models[ModelKey(source, output_type, group, trainer)] = verdict
    return Evaluation(models=models, baselines={}, missing={})


def main() -> None:
    """Print the CPU time of the pictures on cards and of all, and whether the limit is kept."""
    judged, rows = evaluation(), {source: held_out_rows(source) for source in COMPONENTS}

    def held_out(key: ModelKey) -> HeldOut:
        return rows[key.source]

    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.process_time()
        for number, key in enumerate(judged.models):
            draw_held_out({key: held_out(key)}, folder / f"{number}.svg")
        cards = time.process_time() - began
        draw_pictures(judged, held_out, folder)
        seconds = time.process_time() - began
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(f"{'pictures of 200 models':<34} {'CPU s':>7} {'limit':>7}   ({size:.1f} MB, load {os.getloadavg()[0]:.1f})")
    print(f"{'on cards':<34} {cards:7.2f}")
    print(
        f"{'on cards and in the report':<34} {seconds:7.2f} {LIMIT:7.1f}   {'kept' if seconds <= LIMIT else 'BROKEN'}"
    )


if __name__ == "__main__":
    main()
