"""Evaluate: error figures of every model that was trained, and which of them may be published."""

from __future__ import annotations

from pathlib import Path

from kepler_train.evaluate.judging import judge_models
from kepler_train.model_key import ModelKey
from kepler_train.parts import models_of
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs, failure_reasons


def evaluate(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Judge the models of the run that were trained, and keep why the others were not."""
    trained = {ModelKey.parse(part): folder for part, folder in inputs.parts("train").items()}
    missing = [str(key) for key in models_of(spec) if key not in trained]
    reasons = failure_reasons(inputs.run, "train", missing, spec)
    return judge_models(trained, spec, out, {ModelKey.parse(part): reason for part, reason in reasons.items()})
