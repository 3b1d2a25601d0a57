"""Models trained from samples, as `kepler-train train` does it, without its command line."""

from __future__ import annotations

import shutil
from pathlib import Path

from kepler_train.machine.spec import MachineSpec
from kepler_train.runs.temporary import TemporaryRun
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures


def train_models(
    samples: Path,
    spec: RunSpec,
    schedule: Schedule,
    title: str,
    scratch: Path,
    out: Path,
    machine: MachineSpec | None = None,
) -> Figures:
    """Write `<out>/<pipeline>/…`; a spec that names no node type is for type 0."""
    spec = spec.model_copy(update={"node_type": spec.node_type or 0})
    run = TemporaryRun(scratch, spec, title)
    run.give_plan(schedule)
    run.give_samples(samples, machine)
    run.do("extract")
    run.do("isolate")
    figures = run.train()
    shutil.move(run.folder("export") / spec.pipeline, out / spec.pipeline)
    return figures
