"""Judge models by their held-out predictions, beside trivial models on the same rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kepler_train.evaluate.baselines import BASELINES
from kepler_train.evaluate.figures import all_figures, worst
from kepler_train.evaluate.gate import refusal
from kepler_train.evaluate.judged import HELD_OUT, MODEL, HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.events import say
from kepler_train.models.files import METADATA
from kepler_train.parts import models_of
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures

EVALUATION = "evaluation.json"
# What a model's metadata say of its training that the report shows beside the errors.
_OF_TRAINING = (
    "output_type",
    "rows",
    "workloads",
    "evaluation",
    "main_features",
    "trivial_features",
    "notes",
    "interval",
    "chosen",
    "left_out",
    "continued",
    "additivity_error",
    "attribution",
    "previous",
    "refused_formats",
)


def judge_models(
    trained: Mapping[str, Path], spec: RunSpec, out: Path, failed: Mapping[str, str] | None = None
) -> Figures:
    """Judge each model by its held-out predictions, beside trivial models on the same rows.

    `failed` says of models that could not be trained why, where that is known.
    """
    models: dict[str, Any] = {}
    baselines: dict[str, dict[str, Any]] = {}
    for part, folder in trained.items():
        held_out = HeldOut.read(folder / HELD_OUT)
        metadata = json.loads((folder / MODEL / METADATA).read_text(encoding="utf-8"))
        about = {name: metadata[name] for name in _OF_TRAINING if name in metadata}
        models[part] = judge(held_out, spec) | {"training": about}
        family = part.rpartition("/")[0]  # all trainers of a source, output type and group have the same rows
        if family not in baselines:
            there = [name for name in BASELINES if name in held_out.columns]
            baselines[family] = {name: all_figures(held_out, spec.mape_floor, name) for name in there}
        _say_verdict(part, models[part])
    missing = {part: (failed or {}).get(part, "") for part in models_of(spec) if part not in trained}
    content = {"models": models, "baselines": baselines, "missing": missing}
    (out / EVALUATION).write_text(json.dumps(content, allow_nan=False), encoding="utf-8")
    passing = sum(verdict["passes"] for verdict in models.values())
    return {"models": len(models), "passing": passing, "not_trained": len(missing)}


def judge(held_out: HeldOut, spec: RunSpec) -> dict[str, Any]:
    """Figures by protocol and component; `mae` and `mape` are the worst component's, blocked."""
    figures = all_figures(held_out, spec.mape_floor)
    worsts = {name: (worst(own, "mae"), worst(own, "mape")) for name, own in figures.items()}
    mae, mape = worsts[Protocol.BLOCKED]
    refused = refusal(worsts, spec)
    return {"mae": mae, "mape": mape, "passes": not refused, "refused": refused, "figures": figures}


def _say_verdict(part: str, verdict: Mapping[str, Any]) -> None:
    mape = f", {verdict['mape']:.1f} %" if verdict["mape"] is not None else ""
    passes = "passes the gate" if verdict["passes"] else f"does not pass the gate: {verdict['refused']}"
    say(f"evaluate: {part}: worst component {verdict['mae']:.2f} W{mape} (blocked): {passes}")
