"""Isolate: the power of the background out of node power, and the rest shared among containers."""

from __future__ import annotations

from pathlib import Path

from kepler_train.extract.chosen import ChosenFeatures
from kepler_train.isolate.background import read_known_background
from kepler_train.isolate.frames import isolate_frames
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs


def isolate(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write the isolated frames of the run, and return figures."""
    plan = inputs.folder("plan")
    chosen = ChosenFeatures.read(plan)
    features = dict.fromkeys(spec.feature_groups, chosen.columns) if chosen else None
    return isolate_frames(inputs.folder("extract"), spec, read_known_background(plan, spec), out, features)
