"""The phases of a stress run: every load at every CPU frequency with more and more instances, idle before and after."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kepler_train.stress.loads import IDLE_LOAD, Load

_STEP_MHZ = 800


@dataclass(frozen=True)
class PlannedPhase:
    """A phase to come: `seconds` of one load."""

    load: Load
    instances: int
    frequency_mhz: int | None
    seconds: int

    @property
    def name(self) -> str:
        """Return the name for people: `cpu x4 @2400MHz`, `cpu x4`, or `idle`."""
        if self.load.kind == "idle":
            return self.load.name
        at = f" @{self.frequency_mhz}MHz" if self.frequency_mhz else ""
        return f"{self.load.name} x{self.instances}{at}"


@dataclass(frozen=True)
class StressPlan:
    """The phases in their order, with a break of some seconds between every two."""

    phases: tuple[PlannedPhase, ...]
    break_seconds: float

    def seconds_from(self, first: int, left_out: Collection[Load] = ()) -> float:
        """Return how long the phases from the one numbered `first` (0 is the first of all) take."""
        lengths = [phase.seconds for phase in self.phases[first:] if phase.load not in left_out]
        return sum(lengths) + self.break_seconds * max(len(lengths) - 1, 0)


def instance_counts(cpus: int) -> list[int]:
    """Return 1, 2, 4, 8, 16, 24, … up to the number of CPUs + 8.

    >>> instance_counts(2), instance_counts(16)
    ([1, 2, 4, 8], [1, 2, 4, 8, 16, 24])
    """
    limit = cpus + 8
    return [count for count in (1, 2, 4, 8, *range(16, limit + 1, 8)) if count <= limit]


def sweep_mhz(lowest_mhz: float, highest_mhz: float) -> list[int]:
    """Return the frequencies from the lowest + 800 MHz in steps of 800 MHz up to the highest.

    >>> sweep_mhz(800, 3500)
    [1600, 2400, 3200]
    """
    return list(range(round(lowest_mhz) + _STEP_MHZ, math.floor(highest_mhz) + 1, _STEP_MHZ))


def plan_phases(
    loads: Iterable[Load],
    counts: Sequence[int],
    frequencies_mhz: Sequence[int],
    *,
    timeout: int,
    idle: int,
    break_seconds: float,
) -> StressPlan:
    """Return loads × frequencies × instances of `timeout` seconds each, between two idle phases of `idle` seconds.

    Without frequencies the governor chooses them. Only stressors are multiplied: a command or a Job runs once at each
    frequency, and idle once.
    """
    around = [PlannedPhase(IDLE_LOAD, 0, None, idle)] if idle else []
    between = [
        PlannedPhase(load, count, frequency, timeout)
        for load in loads
        for frequency in (frequencies_mhz if load.kind != "idle" and frequencies_mhz else [None])
        for count in (counts if load.kind == "stress-ng" else [0 if load.kind == "idle" else 1])
    ]
    return StressPlan((*around, *between, *around), break_seconds)


def plan_table(plan: StressPlan, unavailable: Collection[Load] = ()) -> list[str]:
    """Return the plan as the lines of a table, with its total time below."""
    rows = [("phase", "load", "instances", "frequency", "time", "")]
    for number, phase in enumerate(plan.phases, 1):
        frequency = f"{phase.frequency_mhz} MHz" if phase.frequency_mhz else "as it is"
        note = "missing: will not run" if phase.load in unavailable else ""
        rows.append((str(number), phase.load.name, str(phase.instances or "-"), frequency, f"{phase.seconds} s", note))
    w = [max(map(len, column)) for column in zip(*rows, strict=True)]  # widths
    table = [
        f"{number:>{w[0]}}  {load:<{w[1]}}  {count:>{w[2]}}  {frequency:>{w[3]}}  {time:>{w[4]}}  {note}".rstrip()
        for number, load, count, frequency, time, note in rows
    ]
    running = sum(phase.load not in unavailable for phase in plan.phases)
    total = format_duration(plan.seconds_from(0, unavailable))
    return [*table, f"{running} phases, {total} with breaks of {plan.break_seconds:g} s between them."]


def format_duration(seconds: float) -> str:
    """Return a length of time as people say it.

    >>> format_duration(59.4), format_duration(61), format_duration(7321)
    ('59 s', '1 min 1 s', '2 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
