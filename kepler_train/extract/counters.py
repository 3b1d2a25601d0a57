"""Counters: what they gained between samples, and gauges as counters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def increments(values: Floats) -> Floats:
    """What a counter gained between consecutive samples; a reset counts the new value once."""
    steps = values[1:] - values[:-1]
    if np.minimum.reduce(steps, initial=0.0) < 0:
        resets = steps < 0
        steps[resets] = values[1:][resets]
    return steps


def integrated(times: Floats, levels: Floats) -> Floats:
    """The integral of a gauge over time (trapezoids): a counter whose rate is the gauge's mean level."""
    return np.concatenate([[0.0], np.cumsum(np.diff(times) * (levels[1:] + levels[:-1]) / 2)])


def integrated_means(times: Floats, means: Floats) -> Floats:
    """The integral of a gauge whose every value is the mean since the reading before: Σ mean·Δt."""
    return np.concatenate([[0.0], np.cumsum(np.diff(times) * means[1:])])


def scrape_interval(times: Floats) -> float:
    """The usual time between samples (s)."""
    return float(np.median(np.diff(times)))
