"""How models age: the error of the version of each window on the rows of every window, a map per component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.export.pictures.style import new_panels, save_figure

_WORST = 5.0  # times the least error of a map: the last colour
_WHITE_FROM = 0.7  # of the way there figures are white
_MOST_FIGURES = 12  # versions with which a cell has room for its figure


def draw_ageing(windows: Sequence[str], errors: Mapping[str, Floats], file: Path) -> None:
    """Draw mean absolute errors (W): a line per version, the oldest window on top, a column per window judged."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    figure, axes = new_panels(len(errors), 2, 1.6 + 0.34 * len(windows))
    places = np.arange(len(windows))
    for axis, (name, watts) in zip(axes, errors.items(), strict=True):
        least = max(float(np.nanmin(watts)), 1e-9)
        shades = LogNorm(least, _WORST * least, clip=True)
        axis.pcolormesh(
            places, places, np.ma.masked_invalid(watts), norm=shades, cmap=colormaps["YlOrBr"], edgecolors="white",
            linewidth=0.8,
        )  # fmt: skip
        for (i, j), value in np.ndenumerate(watts):
            if np.isfinite(value) and len(windows) <= _MOST_FIGURES:
                ink = "white" if float(shades(max(value, least))) >= _WHITE_FROM else "#222222"
                weight = "bold" if i == j else "normal"
                axis.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=ink, fontweight=weight)
        axis.set_title(name)
        axis.set_xticks(places, windows, rotation=30, ha="right", rotation_mode="anchor")
        axis.set_yticks(places, windows)
        axis.invert_yaxis()
        axis.grid(False)
        axis.spines[:].set_visible(False)
        axis.set(xlabel="judged on the window until", ylabel="trained until")
    figure.suptitle("Mean absolute error (W) of each version on the rows of each window; bold: its own, held out")
    save_figure(figure, file)
