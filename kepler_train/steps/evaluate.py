"""Evaluate: error figures of every model that was trained, and which of them may be published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kepler_train.events import say
from kepler_train.spec import RunSpec
from kepler_train.steps import models_of
from kepler_train.steps.train import HELD_OUT
from kepler_train.train.figures import all_figures, worst
from kepler_train.train.protocols import Protocol
from kepler_train.workspace import Figures, Inputs

EVALUATION = "evaluation.json"


def evaluate(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Judge the models of the run that were trained."""
    return judge_models(inputs.parts("train"), spec, out)


def judge_models(trained: Mapping[str, Path], spec: RunSpec, out: Path) -> Figures:
    """Judge each model by its held-out predictions; the gate looks at the blocked error of the worst component."""
    models = {part: judge(pd.read_parquet(folder / HELD_OUT), spec) for part, folder in trained.items()}
    missing = [part for part in models_of(spec) if part not in trained]
    for part, verdict in models.items():
        say(
            f"evaluate: {part}: worst component {verdict['mae']:.2f} W"
            + (f", {verdict['mape']:.1f} %" if verdict["mape"] is not None else "")
            + f" (blocked): {'passes' if verdict['passes'] else 'does not pass'} the gate"
        )
    content = {"models": models, "missing": missing}
    (out / EVALUATION).write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
    passing = sum(verdict["passes"] for verdict in models.values())
    return {"models": len(models), "passing": passing, "not_trained": len(missing)}


def judge(held_out: pd.DataFrame, spec: RunSpec) -> dict[str, Any]:
    """Figures by protocol and component; `mae` and `mape` are the worst component's, blocked."""
    figures = all_figures(held_out, spec.mape_floor)
    blocked = figures[Protocol.BLOCKED]
    mae, mape = worst(blocked, "mae"), worst(blocked, "mape")
    return {"mae": mae, "mape": mape, "passes": passes_gate(mae, mape, spec), "figures": figures}


def passes_gate(mae: float | None, mape: float | None, spec: RunSpec) -> bool:
    """(mae ≤ 10 or mape ≤ 20) and both ≤ 100, with the limits of the spec; a figure that is not there does not help."""
    if mae is None or not mae <= spec.gate_limit or (mape is not None and not mape <= spec.gate_limit):
        return False  # NaN is above every limit
    return mae <= spec.gate_mae or (mape is not None and mape <= spec.gate_mape)
