"""Validate: a verdict on the samples that a person can read, before anything is trained on them."""

from __future__ import annotations

from pathlib import Path

from kepler_train.samples.schedule import run_schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.judging import judge_samples
from kepler_train.validate.outcome import VERDICT
from kepler_train.validate.verdict import check_verdict
from kepler_train.workspace import Figures, Inputs


def validate(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write the verdict; refuse samples that cannot serve."""
    verdict = judge_samples(inputs.folder("query"), spec, run_schedule(inputs))
    verdict.write(out / VERDICT)
    check_verdict(spec, verdict, every_node=False, to_train=True)
    return {
        "dialect": verdict.dialect,
        "nodes": len(verdict.nodes),
        "groups": sum(state.valid for state in verdict.groups.values()),
        "warnings": len(verdict.warnings),
    }
