"""The verdict as a person reads it: a block per node, then the feature groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from kepler_train.validate.meter_health import MeterHealth
from kepler_train.validate.node_health import NodeHealth
from kepler_train.validate.outcome import GroupVerdict

_COLUMNS = ("component", "counter", "refresh", "mean W", "least W", "most W")


def node_lines(node: str, health: NodeHealth) -> Iterator[str]:
    """Yield the lines of a block on the meters of one node."""
    start, end = (datetime.fromtimestamp(edge, UTC) for edge in (health.start, health.end))
    gaps = health.gaps
    late = f"{end:%H:%M:%S}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    yield f"{node or 'node without a name'}  {start:%Y-%m-%d %H:%M:%S} to {late} UTC ({duration(end, start)})"
    interval = f" every {health.scrape_interval:.3g} s" if health.scrape_interval else ""
    lost = f", longest {gaps.longest:,.0f} s, {gaps.missing_share:.1%} missing" if gaps.count else ""
    yield (
        f"  scrapes   {health.scrapes:,}{interval}; {_number(gaps.count, 'gap')}{lost};"
        f" {_number(len(health.resets), 'reset')}; {_number(len(health.clock_steps), 'clock step')};"
        f" {health.complete:,} of {health.intervals:,} intervals whole"
    )
    missing = [(name, "missing", *("-" * 4)) for name in health.missing_meters]
    for number, row in enumerate(_aligned([_COLUMNS, *map(_meter_row, health.meters.items()), *missing])):
        yield f"  {'' if number else 'power':10}{row}"
    if health.phases:
        enough = sum(phase.enough for phase in health.phases)
        yield f"  phases    {enough} of {len(health.phases)} with enough samples"
    if health.unusable:
        yield f"  unusable  {health.unusable}"


def duration(end: datetime, start: datetime) -> str:
    """Return a length of time in the unit that people would choose."""
    seconds = (end - start).total_seconds()
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def group_lines(groups: Mapping[str, GroupVerdict], nodes: list[str]) -> Iterator[str]:
    """Yield the groups that can be trained, and why others cannot; a node is named when others do better."""
    valid = [group for group, state in groups.items() if state.valid]
    yield f"  valid      {', '.join(valid) or 'none'}"
    for group in valid:
        if sets := groups[group].left_out:
            yield f"             {group} without {', '.join(sets)}"
    reasons: dict[str, list[str]] = {}
    for group, state in groups.items():
        for reason, lacking in _by_reason(state.reasons).items():
            where = "" if set(lacking) == set(nodes) else f" (on {', '.join(lacking)})"
            reasons.setdefault(reason + where, []).append(group)
    for number, (reason, invalid) in enumerate(reasons.items()):
        yield f"  {'' if number else 'not valid':11}{', '.join(invalid)}: {reason}"


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    nodes: dict[str, list[str]] = {}
    for node, reason in reasons.items():
        nodes.setdefault(reason, []).append(node)
    return nodes


def _meter_row(named: tuple[str, MeterHealth]) -> tuple[str, ...]:
    name, meter = named
    refresh, power = meter.refresh, meter.power
    often = f"{'≤ ' if refresh.at_most else ''}{refresh.interval:.3g} s" if refresh.interval else "-"
    watts = (f"{value:.1f}" if value is not None else "-" for value in (power.mean, power.least, power.most))
    return name, "moves" if meter.moved else "stands still", often, *watts


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Return the rows of a table with its numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(_cells(row, widths)).rstrip() for row in rows]


def _cells(row: tuple[str, ...], widths: list[int]) -> Iterable[str]:
    for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.ljust(width) if column < 2 else cell.rjust(width)


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
