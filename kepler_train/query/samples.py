"""Query the samples that a spec needs from its Prometheus."""

from __future__ import annotations

from pathlib import Path

from kepler_train.events import say
from kepler_train.query.dialect import find_dialect
from kepler_train.query.fetch import fetch
from kepler_train.query.prometheus import Prometheus
from kepler_train.samples.wanted import wanted
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures


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
    return fetch(server, want, spec.nodes, start, end, out, step, metered=metered)
