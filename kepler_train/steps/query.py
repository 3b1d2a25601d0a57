"""Query: raw samples of the run's window from Prometheus."""

from __future__ import annotations

from pathlib import Path

from kepler_train.collect import query as collect
from kepler_train.collect.prometheus import Prometheus
from kepler_train.collect.wanted import find_dialect, wanted
from kepler_train.events import say
from kepler_train.spec import RunSpec
from kepler_train.steps.machines import measured_machines, write_machines
from kepler_train.steps.plan import run_schedule
from kepler_train.workspace import Figures, Inputs


def query(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write the samples of the run's window, and what machines they are of."""
    figures = query_samples(spec, out)
    write_machines(out, measured_machines(spec, run_schedule(inputs)))
    return figures


def query_samples(spec: RunSpec, out: Path, step: float = 0, *, metered: bool = True) -> Figures:
    """Ask for every metric that the spec needs, once for all groups and sources; every `step` seconds, or raw.

    To learn from, machines must be `metered`; to estimate the power of, they need not.
    """
    server = Prometheus(spec.prometheus)
    start, end = (moment.timestamp() for moment in spec.window)
    dialect = find_dialect(spec, server, metered=metered)
    want = wanted(spec, dialect)
    form = f"every {step:g} s" if step else "as scraped"
    say(
        f"query: {len(want.metrics)} metrics ({dialect} names), {(end - start) / 3600:.1f} h {form},"
        f" from {spec.prometheus}"
    )
    return collect.query(server, want, spec.nodes, start, end, out, step, metered=metered)
