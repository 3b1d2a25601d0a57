"""OpenMetrics text, for `promtool tsdb create-blocks-from openmetrics`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from kepler_train.simulate.series import Metric, Scrapes


def write_openmetrics(out: TextIO, nodes: Iterable[tuple[Scrapes, list[Metric]]]) -> tuple[int, int]:
    """Write every family once, series after series; return the series and samples written."""
    nodes = list(nodes)
    stamps = [[format_seconds(t) for t in scrapes.recorded.tolist()] for scrapes, _ in nodes]
    series = samples = 0
    for name, kind in {f.name: f.kind for _, families in nodes for f in families}.items():
        out.write(f"# TYPE {name.removesuffix('_total') if kind == 'counter' else name} {kind}\n")
        for (scrapes, families), stamp in zip(nodes, stamps, strict=True):
            for curve in (c for f in families if f.name == name for c in f.curves):
                seen, values = curve.sample(kind, scrapes)
                head = f"{name}{format_labels(curve.labels)} "
                out.writelines(
                    f"{head}{format_sample(value, curve.decimals)} {time}\n"
                    for value, time in zip(values.tolist(), stamp[seen], strict=True)
                )
                series += 1
                samples += len(values)
    out.write("# EOF\n")
    return series, samples


def format_labels(labels: dict[str, str]) -> str:
    """Return `{a="b",c="d"}` with backslash, quote and newline escaped."""
    escaped = (
        (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")) for name, value in labels.items()
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"


def format_sample(value: float, decimals: int) -> str:
    """Return the shortest text that reads back as the same number."""
    return str(int(value)) if decimals == 0 else repr(round(value, decimals))


def format_seconds(time: float) -> str:
    """Return a Unix time with as many decimals as it needs, at most milliseconds."""
    return f"{time:.0f}" if time == int(time) else f"{time:.3f}"
