"""The health of one node's meters: when they were read, what they show, and whether anything can be learnt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.catalog import catalog
from kepler_train.samples.meters import Meter
from kepler_train.samples.schedule import Schedule
from kepler_train.validate.clock import ClockStep, apart, steps_by_energy
from kepler_train.validate.meter_health import MeterHealth, meter_health, parts_above_whole
from kepler_train.validate.phases import PhaseSamples, phase_samples
from kepler_train.validate.timing import Gaps, Window, find_gaps, median_scrape_interval, scrape_times

# Rates need two scrapes, and a rate alone says nothing about how power follows load.
FEWEST_INTERVALS = 3


@dataclass(frozen=True)
class NodeHealth:
    """The state of one node's meters in a window. Times are Unix s, durations s."""

    start: float
    end: float
    scrapes: int
    scrape_interval: float | None
    gaps: Gaps
    resets: list[float]  # when a counter of energy fell
    clock_steps: list[ClockStep]
    intervals: int  # scrape intervals between the first and the last scrape
    complete: int  # of these, with the energy of every component known
    meters: dict[str, MeterHealth]
    missing_meters: list[str]  # components that its sources have elsewhere
    above_whole: list[tuple[str, str, float]]  # component, parts of it that show more, share of time
    phases: list[PhaseSamples] = field(default_factory=list)
    unusable: str = ""  # why nothing can be learnt from the node


def node_health(
    node: str, meters: Sequence[Meter], asked: Window | None, steps: Iterable[ClockStep], schedule: Schedule
) -> NodeHealth:
    """Return the health of a node's meters in the `asked` window, else in the time that the samples span."""
    series = [single for meter in meters for single in meter.series]
    times, interval = scrape_times(series), median_scrape_interval(series)
    window = asked or (float(times[0]), float(times[-1]))
    seconds = np.diff(times)
    health_and_energy = {meter.name: meter_health(meter, times, interval or 1.0) for meter in meters}
    healths = {name: health for name, (health, _) in health_and_energy.items()}
    energies = {meter.component: health_and_energy[meter.name][1] for meter in reversed(meters)}
    moving = {component: energy for component, energy in energies.items() if energy.joules.any()}
    complete = np.logical_and.reduce([energy.complete for _, energy in health_and_energy.values()])
    sources = dict.fromkeys(meter.source for meter in meters)
    components = [f"{source}/{part}" for source in sources for part in catalog().source(source).components]
    counters = [single for meter in meters if meter.counter for single in meter.series]
    main = max(meters, key=lambda meter: float(health_and_energy[meter.name][1].joules.sum()))
    health = NodeHealth(
        start=window[0],
        end=window[1],
        scrapes=len(times),
        scrape_interval=interval,
        gaps=find_gaps(times, interval, window),
        resets=sorted({moment for health in healths.values() for moment in health.resets}),
        clock_steps=_merged([*steps, *steps_by_energy(counters, interval)], interval),
        intervals=_intervals(seconds, interval),
        complete=_intervals(seconds[complete], interval),
        meters=healths,
        missing_meters=[name for name in components if name not in healths],
        above_whole=parts_above_whole(moving, interval or 1.0, healths[main.name].refresh),
        phases=phase_samples(schedule, node, times, interval),
    )
    return _judged(health, node)


def _intervals(seconds: Floats, interval: float | None) -> int:
    """Return how many scrape intervals, the rows that training will have, fit into these stretches of time."""
    return int(seconds.sum() / interval + 0.5) if interval else 0


def _merged(steps: list[ClockStep], interval: float | None) -> list[ClockStep]:
    """Return each step once: the metrics of one scrape share its stamp, and energy tells the size in full."""
    by_size = sorted(steps, key=lambda step: -abs(step.seconds))
    return sorted(apart(by_size, lambda step: step.time, interval or 0.0), key=lambda step: step.time)


def _judged(health: NodeHealth, node: str) -> NodeHealth:
    """Return the health with the reason why nothing can be learnt from the node, if there is one."""
    name, unusable = node or "without a name", ""
    if health.intervals < FEWEST_INTERVALS:
        unusable = f"node {name} has {health.scrapes} scrapes of its meters, which are too few: choose a longer window"
    elif not any(meter.moved for meter in health.meters.values()):
        unusable = f"the energy counters of node {name} never move: the meter of this machine is not working"
    elif health.complete < FEWEST_INTERVALS:
        unusable = (
            f"gaps and resets leave {health.complete} of {health.intervals} scrape intervals of node {name} whole:"
            " choose another window or check its exporter"
        )
    return replace(health, unusable=unusable)
