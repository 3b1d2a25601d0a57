"""Judge models by their held-out predictions, beside trivial models on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kepler_train.evaluate.baselines import BASELINES
from kepler_train.evaluate.evaluation import Evaluation, ModelVerdict, TrainingSummary
from kepler_train.evaluate.figures import all_figures, worst
from kepler_train.evaluate.gate import refusal
from kepler_train.evaluate.judged import HELD_OUT, MODEL, HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.events import say
from kepler_train.model_key import Family, ModelKey
from kepler_train.models.artifact import read_metadata
from kepler_train.models.metadata import ByProtocol
from kepler_train.parts import models_of
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures


def judge_models(
    trained: Mapping[ModelKey, Path], spec: RunSpec, out: Path, failed: Mapping[ModelKey, str] | None = None
) -> Figures:
    """Write the evaluation of trained models; `failed` has the reasons why others could not be trained."""
    models: dict[ModelKey, ModelVerdict] = {}
    baselines: dict[Family, dict[str, ByProtocol]] = {}
    for key, folder in trained.items():
        held_out = HeldOut.read(folder / HELD_OUT)
        training = TrainingSummary.of(read_metadata(folder / MODEL))
        models[key] = judge(held_out, spec, training)
        if key.family not in baselines:
            names = [name for name in BASELINES if name in held_out.columns]
            baselines[key.family] = {name: all_figures(held_out, spec.mape_floor, name) for name in names}
        _say_verdict(key, models[key])
    missing = {key: (failed or {}).get(key, "") for key in models_of(spec) if key not in trained}
    evaluation = Evaluation(models=models, baselines=baselines, missing=missing)
    evaluation.write(out)
    return {"models": len(models), "passing": len(evaluation.passing), "not_trained": len(missing)}


def judge(held_out: HeldOut, spec: RunSpec, training: TrainingSummary) -> ModelVerdict:
    """Return the errors of a model on its held-out rows, and whether it passes the gate."""
    figures = all_figures(held_out, spec.mape_floor)
    worsts = {name: (worst(errors, "mae"), worst(errors, "mape")) for name, errors in figures.items()}
    blocked, refused = figures[Protocol.BLOCKED], refusal(worsts, spec)
    return ModelVerdict(
        mae=max(errors.mae for errors in blocked.values()),
        mape=worst(blocked, "mape"),
        passes=not refused,
        refused=refused,
        figures=figures,
        training=training,
    )


def _say_verdict(key: ModelKey, verdict: ModelVerdict) -> None:
    mape = f", {verdict.mape:.1f} %" if verdict.mape is not None else ""
    passes = "passes the gate" if verdict.passes else f"does not pass the gate: {verdict.refused}"
    say(f"evaluate: {key}: worst component {verdict.mae:.2f} W{mape} (blocked): {passes}")
