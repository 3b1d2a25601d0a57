"""Counters: what they gained between samples, and gauges as counters."""

from __future__ import annotations

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.catalog.model import Kind
from kepler_train.samples.parquet import Series


def increments(values: Floats) -> Floats:
    """Return what a counter gained between consecutive samples; a reset counts the new value once."""
    steps = values[1:] - values[:-1]
    if np.minimum.reduce(steps, initial=0.0) < 0:
        resets = steps < 0
        steps[resets] = values[1:][resets]
    return steps


def running_total(gains: Floats) -> Floats:
    """Return the total at every sample, from the gains between samples; it starts at 0."""
    return np.concatenate([[0.0], np.cumsum(gains)])


def integrated(times: Floats, levels: Floats) -> Floats:
    """Return the integral of a gauge over time (trapezoids): a counter whose rate is the gauge's mean level."""
    return running_total(np.diff(times) * (levels[1:] + levels[:-1]) / 2)


def integrated_means(times: Floats, means: Floats) -> Floats:
    """Return the integral Σ mean·Δt of a gauge whose every value is the mean since the reading before."""
    return running_total(np.diff(times) * means[1:])


def as_counter(series: Series, kind: Kind) -> Series:
    """Return a counter as it is, and a gauge as its integral over time."""
    if kind == "counter":
        return series
    integral = integrated if kind == "gauge" else integrated_means
    return Series(series.labels, series.times, integral(series.times, series.values))
