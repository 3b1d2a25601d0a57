"""What the meters of one node say: when they were read, what they show, and whether anything can be learnt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kepler_train.collect.health.clock import ClockStep, uncounted_gaps
from kepler_train.collect.health.phases import PhaseSamples, phase_samples
from kepler_train.collect.health.power import MeterHealth, meter_health, parts_above_whole
from kepler_train.collect.health.timing import Floats, Gaps, Window, find_gaps, scrape_interval, scrape_times
from kepler_train.collect.meters import Meter
from kepler_train.collect.samples import Series
from kepler_train.collect.schedule import Schedule

# Rates need two scrapes, and a rate alone says nothing about how power follows load.
FEWEST_INTERVALS = 3


@dataclass(frozen=True)
class NodeHealth:
    """The meters of one node in a window. Times are Unix s, durations s."""

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
    above_whole: list[tuple[str, str, float]]  # component, parts of it that show more, share of time
    phases: list[PhaseSamples] = field(default_factory=list)
    useless: str = ""  # why nothing can be learnt from the node

    @property
    def few_phases(self) -> list[PhaseSamples]:
        """The phases with too few samples."""
        return [phase for phase in self.phases if not phase.enough]


def node_health(
    node: str, meters: Sequence[Meter], asked: Window | None, steps: Iterable[ClockStep], schedule: Schedule
) -> NodeHealth:
    """Look at all meters of a node; `asked` is the window that was queried, else it is what the samples span."""
    series = [one for meter in meters for one in meter.series]
    times, interval = scrape_times(series), scrape_interval(series)
    window = asked or (float(times[0]), float(times[-1]))
    edges = _edges(times, interval)
    looked = {meter.name: meter_health(meter, edges, interval or 1.0) for meter in meters}
    healths = {name: health for name, (health, _) in looked.items()}
    energies = {meter.component: looked[meter.name][1] for meter in reversed(meters)}
    moving = {component: own for component, own in energies.items() if own.joules.any()}
    complete = np.logical_and.reduce([energy.complete for _, energy in looked.values()])
    main = max(meters, key=lambda meter: float(looked[meter.name][1].joules.sum()))
    found = NodeHealth(
        start=window[0],
        end=window[1],
        scrapes=len(times),
        scrape_interval=interval,
        gaps=find_gaps(times, interval, window),
        resets=sorted({moment for health in healths.values() for moment in health.resets}),
        clock_steps=_merged([*steps, *_uncounted(main, interval)], interval),
        intervals=len(edges) - 1,
        complete=int(complete.sum()),
        meters=healths,
        above_whole=parts_above_whole(moving, interval or 1.0, healths[main.name].refresh),
        phases=phase_samples(schedule, node, times, interval),
    )
    return _judged(found, node)


def _edges(times: Floats, interval: float | None) -> Floats:
    """Scrape intervals of equal length, from the first scrape to the last: the rows that training will have."""
    if interval is None:
        return times[:1]
    return np.asarray(times[0] + interval * np.arange(int((times[-1] - times[0]) / interval + 0.5) + 1))


def _uncounted(meter: Meter, interval: float | None) -> list[ClockStep]:
    """Gaps that the counter of the meter's largest series did not count."""
    largest: Series = max(meter.series, key=lambda one: float(one.values[-1] - one.values[0]))
    return uncounted_gaps(largest, interval) if meter.counter else []


def _merged(steps: list[ClockStep], interval: float | None) -> list[ClockStep]:
    """Each step once: the metrics of one scrape share its stamp."""
    kept: list[ClockStep] = []
    for step in sorted(steps, key=lambda step: step.time):
        if not kept or step.time - kept[-1].time > (interval or 0.0):
            kept.append(step)
    return kept


def _judged(found: NodeHealth, node: str) -> NodeHealth:
    """With the reason why nothing can be learnt from the node, if there is one."""
    name, useless = node or "without a name", ""
    if found.intervals < FEWEST_INTERVALS:
        useless = f"node {name} has {found.scrapes} scrapes of its meters, which are too few: choose a longer window"
    elif not any(meter.moved for meter in found.meters.values()):
        useless = f"the energy counters of node {name} never move: the meter of this machine is not working"
    elif found.complete < FEWEST_INTERVALS:
        useless = (
            f"gaps and resets leave {found.complete} of {found.intervals} scrape intervals of node {name} whole:"
            " choose another window or check its exporter"
        )
    return NodeHealth(**{**found.__dict__, "useless": useless})
