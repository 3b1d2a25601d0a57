"""Train: one model — a source, an output type, a feature group, a trainer — and its held-out predictions."""

from __future__ import annotations

from pathlib import Path

from kepler_train.extract.chosen import ChosenFeatures
from kepler_train.model_key import ModelKey
from kepler_train.spec import RunSpec
from kepler_train.train.one_model import train_part
from kepler_train.train.training_rows import Frames
from kepler_train.workspace import Figures, Inputs, Manifest

# The frames of the isolation that was read last: a process that trains many models builds their rows once.
_last: tuple[Manifest | None, Frames] | None = None


def train(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Train the model that the part names."""
    key, isolated, plan = ModelKey.parse(inputs.part), inputs.folder("isolate"), inputs.folder("plan")
    return train_part(_frames(inputs, spec), isolated, key, spec, out, plan)


def _frames(inputs: Inputs, spec: RunSpec) -> Frames:
    """Return the frames of the run, with the rows that the part before it built from the same files."""
    global _last
    isolation = inputs.run.manifest("isolate")  # names its own files and, by what it read, those of plan and extract
    extracted, isolated = inputs.folder("extract"), inputs.folder("isolate")
    if _last is None or _last[0] != isolation:
        _last = isolation, Frames(extracted, isolated, spec, ChosenFeatures.read(inputs.folder("plan")))
    return _last[1].staged_at(extracted, isolated)
