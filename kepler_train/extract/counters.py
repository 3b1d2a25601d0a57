"""Increments of a counter over its own timestamps.

Between two samples a counter moves by Δv = v[i] − v[i−1], or by v[i] when it was reset in between (Δv < 0). Time is
*covered* where that increment is known exactly: not across a gap longer than `longest` seconds, and not across a
reset, where what was counted before the restart is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def increments(values: Floats) -> Floats:
    """What the counter added between consecutive samples; a reset counts the new value once."""
    steps = np.diff(values)
    return np.where(steps < 0, values[1:], steps)


def rates(times: Floats, values: Floats) -> Floats:
    """Increments per second between consecutive samples (1/s)."""
    return increments(values) / np.diff(times)


def integrated(times: Floats, levels: Floats) -> Floats:
    """The integral of a gauge over time (trapezoids): a counter whose rate is the gauge's mean level."""
    return np.concatenate([[0.0], np.cumsum(np.diff(times) * (levels[1:] + levels[:-1]) / 2)])


def integrated_means(times: Floats, means: Floats) -> Floats:
    """The integral of a gauge whose every value is the mean since the reading before: Σ mean·Δt."""
    return np.concatenate([[0.0], np.cumsum(np.diff(times) * means[1:])])


@dataclass(frozen=True)
class Accumulated:
    """A counter without resets and gaps: its running total, and the running time it covers (s)."""

    times: Floats
    total: Floats
    covered: Floats

    @classmethod
    def of(cls, times: Floats, values: Floats, longest: float) -> Accumulated:
        """Accumulate what is known exactly; steps longer than `longest` seconds are gaps, and so are NaN and Inf."""
        known = np.isfinite(values)
        times, values = times[known], values[known]
        elapsed = np.diff(times)
        exact = (elapsed <= longest) & (np.diff(values) >= 0)
        total = np.concatenate([[0.0], np.cumsum(np.where(exact, increments(values), 0.0))])
        covered = np.concatenate([[0.0], np.cumsum(np.where(exact, elapsed, 0.0))])
        return cls(times, total, covered)

    def over(self, edges: Floats) -> tuple[Floats, Floats]:
        """Increment and covered seconds in every window between consecutive edges.

        Inside a step the counter is taken to move evenly, so increments add up to the total for any edges.
        """
        return np.diff(np.interp(edges, self.times, self.total)), np.diff(np.interp(edges, self.times, self.covered))


def scrape_interval(times: Floats) -> float:
    """The usual time between samples (s)."""
    return float(np.median(np.diff(times)))
