"""Train: one model — a source, an output type, a feature group, a trainer — and its held-out predictions."""

from __future__ import annotations

from pathlib import Path

from kepler_train.model_key import ModelKey
from kepler_train.spec import RunSpec
from kepler_train.train.one_model import train_part
from kepler_train.train.training_rows import Frames
from kepler_train.workspace import Figures, Inputs


def train(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Train the model that the part names."""
    isolated = inputs.folder("isolate")
    frames = Frames(inputs.folder("extract"), isolated, spec)
    return train_part(frames, isolated, ModelKey.parse(inputs.part), spec, out, inputs.folder("plan"))
