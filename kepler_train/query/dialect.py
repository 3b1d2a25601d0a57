"""Which dialect of Kepler a server has: the metric names of versions up to 0.9, or those of 0.10 and later."""

from __future__ import annotations

from kepler_train.catalog import catalog
from kepler_train.errors import DataError, UserError
from kepler_train.query.prometheus import Prometheus
from kepler_train.samples.wanted import wanted
from kepler_train.spec import RunSpec


def find_dialect(spec: RunSpec, server: Prometheus, *, metered: bool = True) -> str:
    """The dialect asked for, else the one whose energy counters the server has in the window.

    Unless the machines must be `metered`, features will do, and those of other exporters are the same in any dialect.
    """
    if spec.dialect != "auto":
        return spec.dialect
    start, end = (moment.timestamp() for moment in spec.window)
    asked = {name: wanted(spec, name) for name in catalog().dialects}
    spoken = [
        name
        for name, want in asked.items()
        if any(server.series(metric, start, end) for metric in (*want.energy, *(() if metered else want.of_kepler)))
    ]
    if not spoken and not metered:
        return max(asked, key=lambda name: len(asked[name].features))
    if not spoken:
        raise DataError(
            f"Prometheus at {spec.prometheus} has no energy counters of Kepler for {', '.join(spec.energy_sources)}"
            f" between {spec.window[0]:%Y-%m-%d %H:%M} and {spec.window[1]:%Y-%m-%d %H:%M} UTC:"
            " check the window, and that Kepler is scraped there."
        )
    if len(spoken) > 1:
        raise UserError(
            f"Prometheus at {spec.prometheus} has metrics of both Kepler dialects in the window:"
            f" choose one with dialect = {' or '.join(spoken)}."
        )
    return spoken[0]
