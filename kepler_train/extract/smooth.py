"""Smooth extraction: every row is the mean of a stretch of time that ends with its window.

With rates v_j of windows of d_j seconds, row i becomes Σ v_j·d_j / Σ d_j over the windows j that lie in the last T
seconds up to the end of i, T being `WINDOWS` times the usual window. A stretch never reaches across a gap, a dropped
window or a change of the load: after such a break it begins anew, and its first rows are means of less time. The mean
is the same for features and power, for a node and its containers, so that containers still add up to their node.
"""

from __future__ import annotations

import numpy as np

from kepler_train.arrays import Bools, Floats, Positions
from kepler_train.extract.windows import ScrapeWindows

# The length of a stretch, in windows of the usual length.
WINDOWS = 30
# Windows end at whole milliseconds (s).
_CLOSE = 1e-3


class Smoothing:
    """Rolling mean over the windows of one node; `phases` has the number of the phase of load that each belongs to."""

    def __init__(self, windows: ScrapeWindows, complete: Bools, phases: Positions) -> None:
        self._seconds = windows.seconds
        places = np.arange(len(windows))
        joined = complete[1:] & complete[:-1] & (windows.first[1:] == windows.last[:-1]) & (phases[1:] == phases[:-1])
        begins = np.maximum.accumulate(np.where(np.concatenate([[False], joined])[: len(places)], 0, places))
        length = WINDOWS * float(np.median(self._seconds)) if len(places) else 0.0
        within = np.searchsorted(windows.starts, windows.ends - length - _CLOSE)
        # How many windows before its own belong to the stretch of each row.
        self._before = places - np.minimum(np.maximum(begins, within), places)

    def mean(self, rates: Floats) -> Floats:
        """Return the means of rates; the last axis is the windows.

        Sums are taken one by one: a difference of running totals would leave traces of what lies outside the stretch.
        """
        total, seconds = rates * self._seconds, self._seconds.copy()
        gains = total.copy()
        for back in range(1, int(self._before.max(initial=0)) + 1):
            rows = np.flatnonzero(self._before >= back)
            total[..., rows] += gains[..., rows - back]
            seconds[rows] += self._seconds[rows - back]
        total /= seconds
        return total
