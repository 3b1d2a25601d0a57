"""OpenMetrics text, for `promtool tsdb create-blocks-from openmetrics`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from kepler_train.simulate.activity import Array
from kepler_train.simulate.series import Curve, Family, Scrapes


def write_openmetrics(out: TextIO, nodes: Iterable[tuple[Scrapes, list[Family]]]) -> tuple[int, int]:
    """Write every family once, series after series; returns series and samples written."""
    nodes = list(nodes)
    stamps = [[format_seconds(t) for t in scrapes.times.tolist()] for scrapes, _ in nodes]
    series = samples = 0
    for name, kind in {f.name: f.kind for _, found in nodes for f in found}.items():
        out.write(f"# TYPE {name.removesuffix('_total') if kind == 'counter' else name} {kind}\n")
        for (scrapes, found), stamp in zip(nodes, stamps, strict=True):
            for curve in (c for f in found if f.name == name for c in f.curves):
                seen, values = curve.sample(kind, scrapes)
                head = f"{name}{format_labels(curve.labels)} "
                out.writelines(
                    f"{head}{value} {time}\n"
                    for value, time in zip(format_values(values, curve), stamp[seen], strict=True)
                )
                series += 1
                samples += len(values)
    out.write("# EOF\n")
    return series, samples


def exposition(families: Iterable[Family], at: Scrapes) -> Iterator[str]:
    """The same as Prometheus text (0.0.4) of one scrape, without timestamps."""
    for family in families:
        yield f"# TYPE {family.name} {family.kind}\n"
        for curve in family.curves:
            _, values = curve.sample(family.kind, at)
            for value in format_values(values, curve):
                yield f"{family.name}{format_labels(curve.labels)} {value}\n"


def format_labels(labels: dict[str, str]) -> str:
    """`{a="b",c="d"}` with backslash, quote and newline escaped."""
    escaped = (
        (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")) for name, value in labels.items()
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"


def format_values(values: Array, curve: Curve) -> list[str]:
    """Shortest text that reads back as the same number."""
    if curve.decimals == 0:
        return [str(int(value)) for value in values.tolist()]
    return [repr(value) for value in values.tolist()]


def format_seconds(time: float) -> str:
    """A Unix time with as many decimals as it needs, at most milliseconds."""
    return f"{time:.0f}" if time == int(time) else f"{time:.3f}"
