"""Query: raw samples of the run's window from Prometheus."""

from __future__ import annotations

from pathlib import Path

from kepler_train.machine.by_node import write_machines
from kepler_train.query.machines import measured_machines
from kepler_train.query.samples import query_samples
from kepler_train.samples.schedule import run_schedule
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs


def query(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write the samples of the run's window, and the machines that they are of."""
    figures = query_samples(spec, out)
    write_machines(out, measured_machines(spec, run_schedule(inputs)))
    return figures
