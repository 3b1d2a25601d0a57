"""Findings that deserve a look, most important first: wrong power before lost data before remarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from kepler_train.validate.meter_health import MeterHealth, most_of
from kepler_train.validate.metric_health import MetricHealth
from kepler_train.validate.node_health import NodeHealth
from kepler_train.validate.phases import ENOUGH, PhaseSamples

IMPORTANCE = ("wrong power", "lost data", "remark")
WRONG, LOST, REMARK = IMPORTANCE
# A counter that rests for so many refreshes, and a minute, is stuck; shorter rests are the meter's grain.
_STUCK_REFRESHES, _STUCK_SECONDS = 10, 60.0
# A share of missing scrapes that is worth a warning.
_MUCH = 0.05
_NAMED = 5


@dataclass(frozen=True)
class Finding:
    """One sentence about a node, and what it means for training."""

    importance: str
    node: str
    text: str


def by_importance(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, the worst first."""
    return sorted(findings, key=lambda finding: (IMPORTANCE.index(finding.importance), finding.node))


def findings_of(node: str, health: NodeHealth, metrics: Mapping[str, MetricHealth], least_rows: int) -> list[Finding]:
    """Return all that is wrong with a node; `least_rows` are needed to hold parts of them out."""
    energy = {meter.metric for meter in health.meters.values()}
    texts = [
        *_of_meters(health),
        *_of_time(health, least_rows),
        *_of_phases(health.phases),
        *_of_samples(metrics, energy, health.gaps.missing_share),
    ]
    return [Finding(importance, node, text) for importance, text in texts]


def _of_meters(health: NodeHealth) -> Iterator[tuple[str, str]]:
    still = [name for name, meter in health.meters.items() if not meter.moved]
    for name, meter in health.meters.items():
        yield from _of_meter(name, meter)
    for whole, parts, share in health.above_whole:
        yield WRONG, f"{parts} is above {whole} in {share:.0%} of the time: one of the meters is wrong"
    if still and len(still) < len(health.meters):
        yield REMARK, f"{', '.join(still)} never {'moves' if len(still) == 1 else 'move'}: there is nothing to learn"
    slow = [meter for meter in health.meters.values() if meter.refresh.interval and not meter.refresh.at_most]
    if slow and health.scrape_interval:
        refresh = max(meter.refresh.interval or 0.0 for meter in slow)
        yield (
            WRONG,
            f"the meter is refreshed every {refresh:.3g} s but scraped every {health.scrape_interval:.3g} s:"
            " single intervals show too little or too much power; scrape as often as it is refreshed",
        )


def _of_meter(name: str, meter: MeterHealth) -> Iterator[tuple[str, str]]:
    component = name.rpartition("/")[2]
    if meter.too_much is not None:
        yield (
            WRONG,
            f"{name} shows up to {meter.too_much:,.0f} W on one meter: more than {most_of(component):,.0f} W"
            " is not physical; check its unit",
        )
    if meter.negative:
        yield WRONG, f"{name} has values below 0: its counter is not one"
    if meter.still:
        yield WRONG, f"{name} is too low: its counter at {', '.join(meter.still)} never moves"
    stuck = max(_STUCK_REFRESHES * (meter.refresh.interval or 0.0), _STUCK_SECONDS)
    if meter.moved and meter.refresh.standstill > stuck:
        yield (
            WRONG,
            f"{name} stood still for {meter.refresh.standstill:,.0f} s while scrapes went on: it shows 0 W there",
        )


def _of_time(health: NodeHealth, least_rows: int) -> Iterator[tuple[str, str]]:
    if health.clock_steps:
        shown = ", ".join(f"{step.seconds:+.3g} s at {_moment(step.time)}" for step in health.clock_steps[:_NAMED])
        times = "once" if len(health.clock_steps) == 1 else f"{len(health.clock_steps)} times"
        yield WRONG, f"the clock was set {times} ({shown}): power and load around it do not fit together"
    if health.gaps.missing_share > _MUCH:
        yield LOST, f"{health.gaps.missing_share:.0%} of the scrapes are missing"
    if health.complete < least_rows:
        yield LOST, f"{health.complete} whole scrape intervals are fewer than the {least_rows} that training needs"


def _of_phases(phases: list[PhaseSamples]) -> Iterator[tuple[str, str]]:
    few = [phase for phase in phases if not phase.enough]
    if few:
        named = ", ".join(f"{phase.name} ({phase.intervals})" for phase in few[:_NAMED])
        more = f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
        yield LOST, f"{len(few)} of {len(phases)} phases hold fewer than {ENOUGH} scrape intervals: {named}{more}"


def _of_samples(
    metrics: Mapping[str, MetricHealth], energy: set[str], missing_energy: float
) -> Iterator[tuple[str, str]]:
    for metric, health in metrics.items():
        if health.duplicate_series:
            worse = WRONG if metric in energy else REMARK
            yield worse, f"{health.duplicate_series} series of {metric} are scraped twice: one of each counts"
        if health.doubled:
            yield REMARK, f"{health.doubled:,} samples of {metric} had the time of another and were dropped"
        if health.not_finite:
            yield LOST, f"{health.not_finite} samples of {metric} are NaN or infinite: they count as missing"
        if health.negative and metric not in energy:
            yield WRONG, f"{health.negative} samples of the counter {metric} are below 0"
        if metric not in energy and health.missing_share > missing_energy + _MUCH:
            yield LOST, f"{metric} is missing in {health.missing_share:.0%} of the window"
    counters = [name for name, health in metrics.items() if health.kind == "counter" and name not in energy]
    still = [name for name in counters if not metrics[name].moved]
    if still:
        more = f" and {len(still) - _NAMED} more" if len(still) > _NAMED else ""
        yield REMARK, f"never changing: {', '.join(still[:_NAMED])}{more}"


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}"
