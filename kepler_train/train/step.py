"""Train: one model — a source, an output type, a feature group, a trainer — and its held-out predictions."""

from __future__ import annotations

from pathlib import Path

from kepler_train.extract.chosen import ChosenFeatures
from kepler_train.isolate.isolation import attributed_file
from kepler_train.machine.choice import RunNodeType
from kepler_train.model_key import Family, ModelKey
from kepler_train.spec import RunSpec
from kepler_train.train.one_model import train_one, windows_before
from kepler_train.train.trainer import trainer
from kepler_train.train.training_rows import TrainingRows, read_training_rows
from kepler_train.workspace import Figures, Inputs, Manifest

# The rows that were read last, and what for: a process that trains many models builds the rows of a family once.
_last: tuple[tuple[Manifest | None, Family, int], TrainingRows] | None = None


def train(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Train the model that the part names."""
    key = ModelKey.parse(inputs.part)
    spec = RunNodeType.read(inputs.folder("isolate")).settled(spec)
    data = _rows(inputs, spec, key.family, windows_before(trainer(key.trainer), key))
    containers = inputs.folder("isolate") / attributed_file(key.group)
    return train_one(data, containers, spec, key, out, inputs.folder("plan"))


def _rows(inputs: Inputs, spec: RunSpec, family: Family, lags: int) -> TrainingRows:
    """Return the rows of a family, with the features of so many earlier windows."""
    global _last
    # The manifest of isolation names its own files and, by what it read, those of plan and extract.
    wanted = inputs.run.manifest("isolate"), family, lags
    if _last is None or _last[0] != wanted:
        chosen = ChosenFeatures.read(inputs.folder("plan"))
        rows = read_training_rows(inputs.folder("extract"), inputs.folder("isolate"), spec, family, lags, chosen)
        _last = wanted, rows
    return _last[1]
