"""Evaluate: error figures of every model that was trained, and which of them may be published."""

from __future__ import annotations

from pathlib import Path

from kepler_train.evaluate.judging import judge_models
from kepler_train.parts import models_of
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs, failure_reasons


def evaluate(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Judge the models of the run that were trained, and say of the others why they were not."""
    trained = inputs.parts("train")
    missing = [part for part in models_of(spec) if part not in trained]
    return judge_models(trained, spec, out, failure_reasons(inputs.run, "train", missing, spec))
