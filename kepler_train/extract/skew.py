"""How far apart an exporter reads energy and work, found from the counters alone.

If energy is read τ seconds after work, a scrape at t shows energy as of t and work as of t − τ; a change of load then
appears in power first. For every τ of a grid the work is moved by τ (interpolating cumulative values), power is fitted
to it with non-negative weights, and the lag is where least of the power is left unexplained:

- Changes are compared, not levels: the mean of three windows less that of the three windows four earlier. A model that
  misjudges the level of a load, as every linear one does, says nothing about the moment when the load began.
- To move work by half a window is to average two windows, which alone makes noise smaller. So every τ gets as much
  averaging as the most that any needs; otherwise halves would win without any lag.
- Whether a lag is beyond noise is asked of blocks of time: resampled they give its error, and both halves of them
  must find it too.
- Where power follows work in a bent curve and loads come slowly and go at once, or the other way round, power changes
  late or early without any lag. So a lag must be the same with and without squares and roots of work beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kepler_train.extract.counters import Floats
from kepler_train.extract.nonnegative import nonnegative_weights

FARTHEST = 2.0  # windows: lags are looked for up to here, either way
GRID = np.linspace(-FARTHEST, FARTHEST, 17)  # quarters of a window
CHANGE = np.convolve([1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0, 0.0, -1.0])  # later mean less earlier mean
REACH = 4 + len(CHANGE) // 2  # windows around one that its comparison needs: shift and averaging, then the change
GAP = 1.6  # a step longer than this many usual ones is a gap
BLOCKS, LEAST_BLOCK, MOST_BLOCK = 40, 20, 250  # blocks of time, and the windows in one
RESAMPLES = 200
SURE = 5.0  # a lag is beyond noise when it is this many times its error
LEAST = 0.1  # windows: work whose effect on power is bent, as it usually is, looks like a lag of about that
SAME_LAG, SAME_WINDOW = 0.1, 0.05  # lags found with and without such a bend are the same: share of them, windows
WITNESSES = 5.0  # blocks that tell the lag, as if each told as much as the others
MOST_POOLED = 12


@dataclass(frozen=True)
class Lag:
    """Energy is read `seconds` after work (before it, when negative), give or take `error` (one standard deviation).

    `gain` is the share of the unexplained variance of power changes that goes away when work and energy are brought
    together. Where the data cannot tell, the lag is 0 and its error infinite.
    """

    seconds: float
    gain: float
    error: float
    significant: bool


UNKNOWN = Lag(0.0, 0.0, float("inf"), significant=False)


def shifted(times: Floats, cumulative: Floats, lag: float) -> Floats:
    """A counter as it was `lag` seconds before each time, and NaN where that lies outside the recording.

    Energy shifted by the lag of its node is as of the same moments as the work beside it; so is work shifted by minus
    the lag. Values between samples are interpolated, so increments still add up to the total.
    """
    return np.interp(times - lag, times, cumulative, left=np.nan, right=np.nan)


def estimate_lag(times: Floats, energy: Sequence[Floats], work: Sequence[Floats], refresh: float = 0.0) -> Lag:
    """The lag of one node between its energy and its work, all of them cumulative at `times` (Unix s), NaN if unknown.

    An exporter reads all its meters at once, so the components in `energy` share one lag. `refresh` is the time
    between the exporter's readings (s), where it is known. `work` must not lose what processes used before they ended:
    load would seem to end early, which looks like energy read too early (a negative lag).
    """
    if len(times) < 4 * REACH or len(energy) == 0 or len(work) == 0:
        return UNKNOWN
    joules, counted = np.vstack(energy), np.vstack(work)
    step = _window(times, joules, refresh)
    known, power, rates = _windows(times, joules, counted, step)
    if len(known) < 4 * REACH:
        return UNKNOWN
    changes = _changes(power)
    places = _places(known, changes)
    found = _lag(_unexplained(changes, _changes(rates), places), step)
    if not found.significant:
        return found
    bent = np.vstack([rates, rates**2, np.sqrt(rates)])
    other = _lag(_unexplained(changes, _changes(bent), places), step)
    same = abs(found.seconds - other.seconds) <= max(SAME_LAG * abs(found.seconds), SAME_WINDOW * step)
    return replace(found, significant=same)


def _window(times: Floats, energy: Floats, refresh: float) -> float:
    """The length of a window (s): the fewest scrapes in which the exporter reads about equally often every time.

    Else energy and work rise together with the number of readings, which looks like a lag of 0 whatever it is.
    """
    scrape = float(np.median(np.diff(times)))
    moves = int(np.sum(np.any(np.diff(energy) > 0, axis=0)))
    if 0 < moves < 0.9 * (len(times) - 1):  # it is scraped more often than it reads
        refresh = max(refresh, float(times[-1] - times[0]) / moves)
    if refresh <= 0:
        return scrape
    scrapes = scrape * np.arange(1, MOST_POOLED + 1)
    readings = np.round(scrapes / refresh, 2)
    part = readings % 1
    wobble = np.sqrt(part * (1 - part)) / np.maximum(readings, 0.5)  # deviation of readings in a window, relative
    return float(scrapes[np.argmax(wobble < 0.05) if np.any(wobble < 0.05) else np.argmin(wobble)])


def _windows(times: Floats, energy: Floats, work: Floats, step: float) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
    """Equal windows: whether everything in them is known, mean power (W) by component, and rate of work by feature."""
    elapsed = np.diff(times)
    longest = GAP * float(np.median(elapsed))
    every = np.vstack([energy, work])
    risen = np.diff(every)
    with np.errstate(invalid="ignore"):
        exact = (elapsed <= longest) & np.all(risen >= 0, axis=0)  # neither gap nor reset nor NaN
    edges = times[0] + step * np.arange(int((times[-1] - times[0]) / step + 1e-6) + 1)
    covered = np.diff(np.interp(edges, times, _counted(np.where(exact, elapsed, 0.0))))
    rates = np.array([np.diff(np.interp(edges, times, _counted(np.where(exact, own, 0.0)))) for own in risen]) / step
    return covered >= 0.99 * step, rates[: len(energy)], rates[len(energy) :]


def _counted(increments: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(increments)])


def _changes(rates: Floats) -> Floats:
    """How much each rate changes around each window, in units of its usual change; rates that stand still are left out.

    Any constant power goes away here, so the fit needs no intercept.
    """
    found = np.array([np.convolve(rate, CHANGE, "same") for rate in rates])
    usual = np.sqrt(np.mean(found[:, REACH:-REACH] ** 2, axis=1))
    # What is left of a constant rate by rounding is no change.
    moving = usual > 1e-9 * np.abs(rates).max(axis=1)
    return np.asarray(found[moving] / usual[moving, None])


def _places(known: npt.NDArray[np.bool_], changes: Floats) -> list[npt.NDArray[np.intp]]:
    """Blocks of windows with everything known around them; of a long recording, those in which power changes most."""
    unknown = np.concatenate([[0], np.cumsum(~known)])
    places = np.arange(REACH, len(known) - REACH)
    places = places[unknown[places + REACH + 1] == unknown[places - REACH]]
    length = min(max(LEAST_BLOCK, -(-len(known) // BLOCKS)), MOST_BLOCK)
    blocks = np.split(places, np.flatnonzero(np.diff(places // length)) + 1)
    blocks.sort(key=lambda block: -float(np.sum(changes[:, block] ** 2)))
    return sorted((block for block in blocks[:BLOCKS] if len(block)), key=lambda block: int(block[0]))


def _unexplained(changes: Floats, causes: Floats, blocks: list[npt.NDArray[np.intp]]) -> Floats | None:
    """What work moved by each lag of the grid leaves unexplained of power: a row per block, a column per lag.

    Components are added up, each in units of its own least sum; None where there is nothing to compare.
    """
    if len(blocks) < 4 or not len(changes) or not len(causes):
        return None
    places = np.concatenate(blocks)
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    power = 0.75 * changes[:, places] + 0.125 * (changes[:, places - 1] + changes[:, places + 1])
    left = np.empty((len(GRID), len(changes), len(blocks)))
    for column, lag in enumerate(GRID):
        moved = _moved(causes, float(lag))[:, places]
        # The weights that fit best depend on the data only through these products: small, whatever the length.
        squares = moved @ moved.T + 1e-9 * len(places) * np.eye(len(moved))
        weights = np.array([nonnegative_weights(squares, products) for products in power @ moved.T])
        left[column] = np.add.reduceat((power - weights @ moved) ** 2, starts, axis=1)
    least = left.sum(axis=2).min(axis=0)
    return np.asarray((left / np.maximum(least, 1e-12)[None, :, None]).sum(axis=1).T)


def _moved(rates: Floats, lag: float) -> Floats:
    """Rates as they were `lag` windows later; at either end, where nobody looks, what is left of them."""
    moved = np.zeros_like(rates)
    for windows, part in _averaging(lag):
        if windows >= 0:
            moved[:, : rates.shape[1] - windows] += part * rates[:, windows:]
        else:
            moved[:, -windows:] += part * rates[:, :windows]
    return moved


def _averaging(lag: float) -> list[tuple[int, float]]:
    """Windows and their parts that move a rate by `lag` windows into the past, spread by ¼ window² for every lag."""
    whole = int(np.floor(lag))
    part = lag - whole
    side = (0.25 - part * (1 - part)) / 2
    parts = np.convolve([1 - part, part], [side, 1 - 2 * side, side])
    return [(whole - 1 + index, float(share)) for index, share in enumerate(parts)]


def _lag(unexplained: Floats | None, step: float) -> Lag:
    """The lag of least sum over blocks, and whether the blocks agree on it."""
    if unexplained is None:
        return UNKNOWN
    whole = unexplained.sum(axis=0)
    if np.ptp(whole) <= 1e-9 * whole.max():
        return UNKNOWN  # work explains nothing, moved or not
    (lag,), (least,) = _least(whole[None, :])
    count = len(unexplained)
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    error = float(np.std(_least(draws @ unexplained)[0]))
    if abs(lag) >= FARTHEST or error > FARTHEST / 2:
        return UNKNOWN
    halves, _ = _least(np.array([unexplained[::2].sum(axis=0), unexplained[1::2].sum(axis=0)]))
    agreed = np.all(halves * np.sign(lag) >= abs(lag) / 2) and np.all(np.abs(halves) <= 2 * abs(lag))
    told = np.ptp(unexplained, axis=1)
    witnesses = told.sum() ** 2 / np.sum(told**2)
    beyond = abs(lag) > max(SURE * error, LEAST)
    gain = 1 - float(least) / float(whole[len(GRID) // 2])
    return Lag(float(lag) * step, gain, error * step, significant=bool(agreed and beyond and witnesses >= WITNESSES))


def _least(curves: Floats) -> tuple[Floats, Floats]:
    """Where on the grid each curve is least, between its points by a parabola (windows), and how much it is there."""
    lowest = np.clip(curves.argmin(axis=1), 1, len(GRID) - 2)
    row = np.arange(len(curves))
    before, at, after = curves[row, lowest - 1], curves[row, lowest], curves[row, lowest + 1]
    bend = np.maximum(before - 2 * at + after, 1e-300)
    aside = np.clip((before - after) / (2 * bend), -1, 1)
    spacing = GRID[1] - GRID[0]
    return GRID[lowest] + spacing * aside, at - bend * aside**2 / 2
