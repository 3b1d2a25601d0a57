"""Which dialect of Kepler a server has: the metric names of versions up to 0.9, or those of 0.10 and later."""

from __future__ import annotations

from collections.abc import Iterable

from kepler_train.catalog import catalog
from kepler_train.errors import DataError, UserError
from kepler_train.query.prometheus import Prometheus
from kepler_train.samples.metrics import required_metrics
from kepler_train.spec import RunSpec


def find_dialect(spec: RunSpec, server: Prometheus, *, metered: bool = True) -> str:
    """Return the dialect of the spec; for `auto`, the one whose energy counters the server has in the window.

    Of several, the one that also has features of the spec. Unless the machines must be `metered`, features will do.
    Those of other exporters are the same in any dialect.
    """
    if spec.dialect != "auto":
        return spec.dialect
    start, end = (moment.timestamp() for moment in spec.window)
    required = {name: required_metrics(spec, name) for name in catalog().dialects}

    def has_any(metrics: Iterable[str]) -> bool:
        return any(server.series(metric, start, end) for metric in metrics)

    dialects = [
        name
        for name, metrics in required.items()
        if has_any(metrics.energy if metered else [*metrics.energy, *metrics.of_kepler])
    ]
    if len(dialects) > 1:
        dialects = [name for name in dialects if has_any(required[name].of_kepler)] or dialects
    if not dialects and not metered:
        return max(required, key=lambda name: len(required[name].features))
    if not dialects:
        raise DataError(
            f"Prometheus at {spec.prometheus} has no energy counters of Kepler for {', '.join(spec.energy_sources)}"
            f" between {spec.window[0]:%Y-%m-%d %H:%M} and {spec.window[1]:%Y-%m-%d %H:%M} UTC:"
            " check the window, and that Kepler is scraped there."
        )
    if len(dialects) > 1:
        raise UserError(
            f"Prometheus at {spec.prometheus} has metrics of several Kepler dialects in the window:"
            f" choose one with dialect = {' or '.join(dialects)}."
        )
    return dialects[0]
