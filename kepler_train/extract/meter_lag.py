"""The lag between an exporter's readings of energy and of work, estimated from the counters alone.

If energy is read τ seconds after work, a scrape at t shows energy as of t and work as of t − τ; a change of load then
appears in power first. For every τ of a grid the work is moved by τ (interpolating cumulative values), power is fitted
to it with non-negative weights, and the lag is where least of the power is left unexplained:

- Changes are compared, not levels: the mean of three windows less that of the three windows four earlier. A model that
  misjudges the level of a load, as every linear one does, says nothing about the moment when the load began.
- To move work by half a window is to average two windows, which alone makes noise smaller. So every τ gets as much
  averaging as the most that any needs; otherwise half windows would win without any lag.
- Whether a lag is beyond noise is decided on blocks of time: resampling them (bootstrap) gives its standard error, and
  both halves of them must show it too.
- Where power is a curve over work and loads rise slowly and end at once, or the other way round, power changes late or
  early without any lag. So a lag must be the same with and without squares and roots of work as further regressors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kepler_train.arrays import Bools, Floats, Positions
from kepler_train.extract.counters import running_total
from kepler_train.extract.nnls import nonnegative_weights

_FARTHEST = 2.0  # windows: the largest lag, either way
_GRID = np.linspace(-_FARTHEST, _FARTHEST, 17)  # quarters of a window
_CHANGE = np.convolve([1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0, 0.0, -1.0])  # later mean less earlier mean
_REACH = 4 + len(_CHANGE) // 2  # windows on either side that a comparison needs: shift and averaging, then the change
_GAP = 1.6  # a step longer than this many usual ones is a gap
_SPARSE = 10  # usual steps of time for each scrape, beyond which the time without scrapes is left out
_BLOCKS, _LEAST_BLOCK, _MOST_BLOCK = 40, 20, 250  # blocks of time, and the windows in one
_RESAMPLES = 200
_SURE = 5.0  # a lag is beyond noise when it is this many times its error
_LEAST = 0.1  # windows: a curve of power over work, which is usual, looks like a lag of about that
_SAME_LAG, _SAME_WINDOW = 0.1, 0.05  # tolerance between lags with and without such a curve: share of the lag, windows
_EFFECTIVE_BLOCKS = 5.0  # that must contribute to the lag: (Σ a)² / Σ a² over their contributions a
_MOST_POOLED = 12  # scrapes in a window


@dataclass(frozen=True)
class MeterLag:
    """Energy is read `seconds` after work (before it, when negative), give or take `error` (one standard deviation).

    `gain` is the share of the unexplained variance of power changes that goes away when work and energy are brought
    together. Where the data cannot tell, the lag is 0 and its error infinite.
    """

    seconds: float
    gain: float
    error: float
    significant: bool


UNKNOWN_LAG = MeterLag(0.0, 0.0, float("inf"), significant=False)


def shift_counter(times: Floats, cumulative: Floats, lag: float) -> Floats:
    """Return a counter as it was `lag` seconds before each time, and NaN where that lies outside the recording.

    Energy shifted by the lag of its node is as of the same moments as the work beside it; so is work shifted by minus
    the lag. Values between samples are interpolated, so increments still add up to the total.
    """
    return np.interp(times - lag, times, cumulative, left=np.nan, right=np.nan)


def estimate_lag(times: Floats, energy: Sequence[Floats], work: Sequence[Floats], refresh: float = 0.0) -> MeterLag:
    """Return the lag of one node between energy and work, both cumulative at `times` (Unix s), NaN where unknown.

    An exporter reads all its meters at once, so the components in `energy` share one lag. `refresh` is the time
    between the exporter's readings (s), where it is known. `work` must not lose what processes used before they ended:
    load would seem to end early, which looks like energy read too early (a negative lag).
    """
    if len(times) < 4 * _REACH or len(energy) == 0 or len(work) == 0:
        return UNKNOWN_LAG
    times, joules = _without_long_gaps(times), np.vstack(energy)
    step = _window_length(times, joules, refresh)
    known, power, rates = _equal_windows(times, joules, np.vstack(work), step)
    if len(known) < 4 * _REACH:
        return UNKNOWN_LAG
    changes = _changes(power)
    blocks = _blocks(known, changes)
    lag = _lag(_unexplained(changes, _changes(rates), blocks), step)
    if not lag.significant:
        return lag
    curved = np.vstack([rates, rates**2, np.sqrt(rates)])
    other = _lag(_unexplained(changes, _changes(curved), blocks), step)
    same = abs(lag.seconds - other.seconds) <= max(_SAME_LAG * abs(lag.seconds), _SAME_WINDOW * step)
    return replace(lag, significant=same)


def _without_long_gaps(times: Floats) -> Floats:
    """Return times of which those after a long gap are moved towards it, where there is far more time than scrapes.

    So the number of windows follows the number of scrapes, even where one of them has a time that is wrong by years.
    """
    steps = np.diff(times)
    longest = _SPARSE * float(np.median(steps))
    if times[-1] - times[0] <= longest * len(times):
        return times
    return np.concatenate([[0.0], np.cumsum(np.minimum(steps, longest))])


def _window_length(times: Floats, energy: Floats, refresh: float) -> float:
    """Return the length of a window (s): the fewest scrapes in which the exporter reads about equally often every time.

    Otherwise energy and work both follow the number of readings, which looks like a lag of 0 whatever the lag is.
    """
    scrape = float(np.median(np.diff(times)))
    moves = int(np.sum(np.any(np.diff(energy) > 0, axis=0)))
    if 0 < moves < 0.9 * (len(times) - 1):  # it is scraped more often than it reads
        refresh = max(refresh, float(times[-1] - times[0]) / moves)
    if refresh <= 0:
        return scrape
    scrapes = scrape * np.arange(1, _MOST_POOLED + 1)
    readings = np.round(scrapes / refresh, 2)
    part = readings % 1
    wobble = np.sqrt(part * (1 - part)) / np.maximum(readings, 0.5)  # deviation of readings in a window, relative
    return float(scrapes[np.argmax(wobble < 0.05) if np.any(wobble < 0.05) else np.argmin(wobble)])


def _equal_windows(times: Floats, energy: Floats, work: Floats, step: float) -> tuple[Bools, Floats, Floats]:
    """Return of equal windows: which are wholly known, mean power (W) by component, and rate of work by feature."""
    elapsed = np.diff(times)
    longest = _GAP * float(np.median(elapsed))
    risen = np.diff(np.vstack([energy, work]))
    with np.errstate(invalid="ignore"):
        exact = (elapsed <= longest) & np.all(risen >= 0, axis=0)  # neither gap nor reset nor NaN
    edges = times[0] + step * np.arange(int((times[-1] - times[0]) / step + 1e-6) + 1)
    covered, *gains = (
        np.diff(np.interp(edges, times, running_total(np.where(exact, gains, 0.0)))) for gains in (elapsed, *risen)
    )
    rates = np.array(gains) / step
    return covered >= 0.99 * step, rates[: len(energy)], rates[len(energy) :]


def _changes(rates: Floats) -> Floats:
    """Return how much each moving rate changes around each window, in units of its root mean square change.

    Any constant power goes away here, so the fit needs no intercept.
    """
    changes = np.array([np.convolve(rate, _CHANGE, "same") for rate in rates])
    usual = np.sqrt(np.mean(changes[:, _REACH:-_REACH] ** 2, axis=1))
    # What is left of a constant rate by rounding is no change.
    moving = usual > 1e-9 * np.abs(rates).max(axis=1)
    return np.asarray(changes[moving] / usual[moving, None])


def _blocks(known: Bools, changes: Floats) -> list[Positions]:
    """Return blocks of windows with everything known around them; of many, those in which power changes most."""
    unknown = np.concatenate([[0], np.cumsum(~known)])
    places = np.arange(_REACH, len(known) - _REACH)
    places = places[unknown[places + _REACH + 1] == unknown[places - _REACH]]
    length = min(max(_LEAST_BLOCK, -(-len(known) // _BLOCKS)), _MOST_BLOCK)
    blocks = np.split(places, np.flatnonzero(np.diff(places // length)) + 1)
    blocks.sort(key=lambda block: -float(np.sum(changes[:, block] ** 2)))
    return sorted((block for block in blocks[:_BLOCKS] if len(block)), key=lambda block: int(block[0]))


def _unexplained(changes: Floats, causes: Floats, blocks: list[Positions]) -> Floats | None:
    """Return the squares of power that work shifted by each lag leaves unexplained: a row per block, a column per lag.

    Components are added up, each in units of its own least sum. None where there is nothing to compare.
    """
    if len(blocks) < 4 or not len(changes) or not len(causes):
        return None
    places = np.concatenate(blocks)
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    power = 0.75 * changes[:, places] + 0.125 * (changes[:, places - 1] + changes[:, places + 1])
    left = np.empty((len(_GRID), len(changes), len(blocks)))
    for column, lag in enumerate(_GRID):
        moved = _shift_rates(causes, float(lag))[:, places]
        # The weights that fit best depend on the data only through these products: small, whatever the length.
        squares = moved @ moved.T + 1e-9 * len(places) * np.eye(len(moved))
        weights = np.array([nonnegative_weights(squares, products) for products in power @ moved.T])
        left[column] = np.add.reduceat((power - weights @ moved) ** 2, starts, axis=1)
    least = left.sum(axis=2).min(axis=0)
    return np.asarray((left / np.maximum(least, 1e-12)[None, :, None]).sum(axis=1).T)


def _shift_rates(rates: Floats, lag: float) -> Floats:
    """Return rates as they were `lag` windows later; at either end, which is not used, what is left of them."""
    moved = np.zeros_like(rates)
    for windows, weight in _shift_kernel(lag):
        if windows >= 0:
            moved[:, : rates.shape[1] - windows] += weight * rates[:, windows:]
        else:
            moved[:, -windows:] += weight * rates[:, :windows]
    return moved


def _shift_kernel(lag: float) -> list[tuple[int, float]]:
    """Return the kernel that moves a rate by `lag` windows: (window, weight). Its variance is ¼ window² at any lag."""
    whole = int(np.floor(lag))
    part = lag - whole
    side = (0.25 - part * (1 - part)) / 2
    kernel = np.convolve([1 - part, part], [side, 1 - 2 * side, side])
    return [(whole - 1 + index, float(share)) for index, share in enumerate(kernel)]


def _lag(unexplained: Floats | None, step: float) -> MeterLag:
    """Return the lag of the least sum over blocks, and whether the blocks agree on it."""
    if unexplained is None:
        return UNKNOWN_LAG
    whole = unexplained.sum(axis=0)
    if np.ptp(whole) <= 1e-9 * whole.max():
        return UNKNOWN_LAG  # work explains nothing, moved or not
    (lag,), (least,) = _least(whole[None, :])
    count = len(unexplained)
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), _RESAMPLES)
    error = float(np.std(_least(draws @ unexplained)[0]))
    if abs(lag) >= _FARTHEST or error > _FARTHEST / 2:
        return UNKNOWN_LAG
    halves, _ = _least(np.array([unexplained[::2].sum(axis=0), unexplained[1::2].sum(axis=0)]))
    agreed = np.all(halves * np.sign(lag) >= abs(lag) / 2) and np.all(np.abs(halves) <= 2 * abs(lag))
    contributions = np.ptp(unexplained, axis=1)
    effective_blocks = contributions.sum() ** 2 / np.sum(contributions**2)
    beyond = abs(lag) > max(_SURE * error, _LEAST)
    gain = 1 - float(least) / float(whole[len(_GRID) // 2])
    significant = bool(agreed and beyond and effective_blocks >= _EFFECTIVE_BLOCKS)
    return MeterLag(float(lag) * step, gain, error * step, significant=significant)


def _least(curves: Floats) -> tuple[Floats, Floats]:
    """Return lag (windows) and value of the minimum of each curve over the grid, between points by a parabola."""
    lowest = np.clip(curves.argmin(axis=1), 1, len(_GRID) - 2)
    row = np.arange(len(curves))
    before, at, after = curves[row, lowest - 1], curves[row, lowest], curves[row, lowest + 1]
    bend = np.maximum(before - 2 * at + after, 1e-300)
    offset = np.clip((before - after) / (2 * bend), -1, 1)
    spacing = _GRID[1] - _GRID[0]
    return _GRID[lowest] + spacing * offset, at - bend * offset**2 / 2
