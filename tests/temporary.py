"""Models trained from samples and exported as a run does it: those that pass the gate, without a command line."""

from __future__ import annotations

import shutil
from pathlib import Path

from kepler_train.machine.spec import MachineSpec
from kepler_train.runs.registry import STEPS
from kepler_train.runs.runner import run_step
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
    trained = run.train()["trained"]  # which keeps all of them
    exported = run_step(STEPS["export"], STEPS, run._run, spec, force=True, quiet=True)
    figures = exported.figures | {"trained": trained}
    shutil.move(run.folder("export") / spec.pipeline, out / spec.pipeline)
    return figures
