"""The power that the meters of a node show, and whether it makes physical sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.samples.meters import Meter
from kepler_train.samples.parquet import LATE, Series
from kepler_train.validate.refresh import Refresh, refresh_of

# Most that one socket's meter can show (W). The largest server processors draw 500 W, and up to twice that for moments.
MOST_OF_SOCKET = 1000.0
# 32 modules of memory at 15 W each (W).
MOST_OF_MEMORY = 500.0
# A rack server full of accelerators draws 10 kW; no Kepler node draws twice that (W).
MOST_OF_MACHINE = 20_000.0
_MOST = {"dram": MOST_OF_MEMORY, "platform": MOST_OF_MACHINE}
# What lies inside something else cannot exceed it. Memory lies outside the package, but inside the machine.
PARTS_OF = (("package", ("core", "uncore")), ("platform", ("package", "dram")))
# Meters are read one after the other, and each is off by a few per cent; so is a machine in a twentieth of its time.
_TOLERANCE, _RARELY = 1.05, 0.05
# Power is judged by the mean of a minute, and of four refreshes: shorter, it shows when the meter was read.
_MINUTE, _REFRESHES = 60.0, 4
# A shorter recording is judged by single scrape intervals.
_LONG_ENOUGH = 5
# A window counts when the meter covers this share of it, as in extraction.
_COVERED = 0.99


@dataclass(frozen=True)
class Power:
    """The watts of one component in `windows` stretches of usually `seconds` s each; None where no stretch is whole."""

    mean: float | None
    least: float | None
    most: float | None
    seconds: float
    windows: int


@dataclass(frozen=True)
class MeterHealth:
    """The state of one component's meter on one node."""

    metric: str
    counters: int
    sockets: int
    moved: bool
    still: list[str]  # sockets whose counters never move, when others do
    resets: list[float]  # when a counter fell (Unix s)
    refresh: Refresh
    power: Power
    too_much: float | None  # W, when a socket's mean power is beyond what can be built
    negative: bool


@dataclass(frozen=True)
class Metered:
    """The energy of a meter between scrapes of a node (J), the time between them (s), and where it is known."""

    joules: Floats
    seconds: Floats
    complete: np.typing.NDArray[np.bool_]


def metered(series: Sequence[Series], counter: bool, scrapes: Floats, interval: float) -> Metered:
    """Return the energy of all series of a meter between consecutive scrapes; that of resets and gaps is not known."""
    seconds = np.diff(scrapes)
    joules, complete = np.zeros(len(seconds)), seconds <= LATE * interval
    for member in series:
        known = np.isfinite(member.values)
        times, values = member.times[known], member.values[known]
        if len(times) < 2:
            complete[:] = False
            continue
        elapsed, gained = np.diff(times), np.diff(values)
        exact = elapsed <= LATE * interval
        if counter:
            exact &= gained >= 0
        else:
            gained = elapsed * (values[1:] + values[:-1]) / 2  # W · s
        joules += np.diff(np.interp(scrapes, times, _running(np.where(exact, gained, 0.0))))
        covered = np.diff(np.interp(scrapes, times, _running(np.where(exact, elapsed, 0.0))))
        complete &= covered >= _COVERED * seconds
    return Metered(joules, seconds, complete)


def _running(steps: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(steps)])


def meter_health(meter: Meter, scrapes: Floats, interval: float) -> tuple[MeterHealth, Metered]:
    """Return the health and the energy of one meter of a node that was scraped at these times (Unix s)."""
    energy = metered(meter.series, meter.counter, scrapes, interval)
    refresh = refresh_of(meter.series, interval)
    watts, seconds = mean_watts(energy, interval, refresh)
    sockets = {place: metered(members, meter.counter, scrapes, interval) for place, members in meter.sockets.items()}
    still = [place for place, members in meter.sockets.items() if not any(map(_moves, members))]
    most = max((_most(members, interval, refresh) for members in sockets.values()), default=0.0)
    falls = [member.times[1:][np.diff(member.values) < 0] for member in meter.series] if meter.counter else []
    return (
        MeterHealth(
            metric=meter.metric,
            counters=len(meter.series),
            sockets=len(meter.sockets),
            moved=len(still) < len(meter.sockets),
            still=still if len(still) < len(meter.sockets) else [],
            resets=np.unique(np.concatenate(falls)).tolist() if falls else [],
            refresh=refresh,
            power=_power(watts, seconds),
            too_much=most if most > most_of(meter.component) else None,
            negative=any(bool((member.values < 0).any()) for member in meter.series),
        ),
        energy,
    )


def most_of(component: str) -> float:
    """Return the most power that one meter of a component can show (W)."""
    return _MOST.get(component, MOST_OF_SOCKET)


def mean_watts(energy: Metered, interval: float, refresh: Refresh) -> tuple[Floats, Floats]:
    """Return the mean power of every whole stretch (W), and its length (s)."""
    seconds = max(_MINUTE, _REFRESHES * interval, _REFRESHES * (refresh.interval or 0.0))
    count = max(round(seconds / interval), 1)
    if len(energy.joules) < _LONG_ENOUGH * count or not len(_of_stretches(energy, count)[0]):
        count = max(round((refresh.interval or interval) / interval), 1)
    return _of_stretches(energy, count)


def _of_stretches(energy: Metered, count: int) -> tuple[Floats, Floats]:
    """Return the mean power of `count` scrape intervals each (W) where all are known, and their length (s)."""
    rows = len(energy.joules) // count
    joules, seconds, complete = (
        column[: rows * count].reshape(rows, count) for column in (energy.joules, energy.seconds, energy.complete)
    )
    whole = complete.all(axis=1)
    lengths = seconds[whole].sum(axis=1)
    return np.asarray(joules[whole].sum(axis=1) / lengths), lengths


def _moves(series: Series) -> bool:
    return bool((np.diff(series.values[np.isfinite(series.values)]) != 0).any())


def _most(energy: Metered, interval: float, refresh: Refresh) -> float:
    return float(np.max(mean_watts(energy, interval, refresh)[0], initial=0.0))


def _power(watts: Floats, seconds: Floats) -> Power:
    if not len(watts):
        return Power(None, None, None, 0.0, 0)
    mean = float(np.average(watts, weights=seconds))
    return Power(mean, float(watts.min()), float(watts.max()), float(np.median(seconds)), len(watts))


def parts_above_whole(energies: dict[str, Metered], interval: float, refresh: Refresh) -> list[tuple[str, str, float]]:
    """Return components whose parts show more energy than they do, with the parts and the share of time.

    Only components that move are compared: a meter at 0 is a finding of its own.
    """
    excesses = []
    for whole, parts in PARTS_OF:
        known = [part for part in parts if part in energies]
        if whole not in energies or not known or not energies[whole].joules.any():
            continue
        complete = np.logical_and.reduce([energies[name].complete for name in (whole, *known)])
        together = np.sum([energies[name].joules for name in known], axis=0)
        outer, _ = mean_watts(replace(energies[whole], complete=complete), interval, refresh)
        inner, _ = mean_watts(replace(energies[whole], joules=together, complete=complete), interval, refresh)
        share = float(np.mean(inner > _TOLERANCE * outer)) if len(outer) else 0.0
        if share > _RARELY:
            excesses.append((whole, " + ".join(known), share))
    return excesses
