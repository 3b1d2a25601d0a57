"""Query the samples that a spec needs from its Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kepler_train.events import say
from kepler_train.query.download import PARALLEL_REQUESTS, download
from kepler_train.query.find_dialect import find_dialect
from kepler_train.query.prometheus import Prometheus
from kepler_train.query.series import SeriesSearch
from kepler_train.samples.metrics import RequiredMetrics, required_metrics
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures


def query_samples(
    spec: RunSpec, out: Path, step: float = 0, *, metered: bool = True, server: Prometheus | None = None
) -> Figures:
    """Write every metric that the spec needs, once for all groups and sources; return what was downloaded.

    The samples are raw, or resampled every `step` seconds. To learn from, machines must be `metered`; to estimate the
    power of, they need not. Without a `server` that of the spec is asked, as a run asks it.
    """
    server = server or Prometheus(spec.prometheus)
    start, end = (moment.timestamp() for moment in spec.window)
    dialect = find_dialect(spec, server, metered=metered)
    required = required_metrics(spec, dialect)
    form = f"every {step:g} s" if step else "as scraped"
    say(
        f"query: {len(required.metrics)} metrics ({dialect} names), {(end - start) / 3600:.1f} h {form},"
        f" from {spec.prometheus}"
    )
    return write_samples(server, required, spec.nodes, start, end, out, step, metered=metered)


def write_samples(
    server: Prometheus,
    required: RequiredMetrics,
    requested_nodes: Sequence[str],
    start: float,
    end: float,
    out: Path,
    step: float = 0,
    *,
    metered: bool = True,
) -> Figures:
    """Write every sample of the window (Unix s), a file per metric; return what was downloaded.

    With a `step` (s) the values at its multiples are written instead, as the server resamples them. Unless the
    machines must be `metered`, those without energy are taken too.
    """
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        search = SeriesSearch(server, required, requested_nodes, start, end, metered, pool)
        try:
            nodes, metrics = search.downloads(round(step * 1000))
            # Prometheus knows milliseconds, and so do the edges of chunks.
            samples = download(server, metrics, round(start * 1000), round(end * 1000), out, pool)
            search.write_names(nodes, set(samples), out)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # after a failure nothing more is asked for
            raise
    search.check_essential(set(samples))
    missing = [metric for metric in required.metrics if metric not in samples]
    if missing:
        say(
            f"query: {len(missing)} of {len(required.metrics)} metrics have no samples in the window:"
            f" {', '.join(missing)}"
        )
    return {
        "metrics": len(samples),
        "series": sum(metric.series for metric in metrics if metric.metric in samples),
        "samples": sum(samples.values()),
        "requests": server.traffic.requests,
        "bytes": server.traffic.bytes,
        "retries": server.traffic.retries,
        "dialect": required.dialect,
    }
