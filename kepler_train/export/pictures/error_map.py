"""The errors of all models of a source and output type: a map of trainers and feature groups per component."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.pictures.style import WIDTH, new_figure, save_figure
from kepler_train.export.standings import Standing, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL, _NARROWEST = 0.5, 1.9  # width of a cell, and of a panel, which has room for its title (inches)
_LINE = 0.32  # height of a cell: room for two figures below each other (inches)
_FAR = 10.0  # times the error of the best: the last colour
_WHITE_FROM = 0.7  # of the way there figures are white
_REFUSED = "#eeeeee"
_PALE, _INK = "#666666", "#222222"


def draw_error_map(tables: list[Table], file: Path) -> None:
    """Draw a panel per component: mean absolute error (W) of every trainer on every group, the best trainer on top."""
    models = [row for table in tables for row in _trained(table)]
    trainers, groups = _best_first(tables), sorted({row.group for row in models})
    both = any(_mae(row) != _blocked(row) for row in models)
    wide = max(_CELL * len(groups), _NARROWEST)
    figure = new_figure(max(WIDTH, 2.2 + wide * len(tables)), 2.4 + _LINE * len(trainers))
    axes = figure.subplots(1, len(tables), squeeze=False, sharey=True)[0]
    for axis, table in zip(axes, tables, strict=True):
        power = _trained(table)[0].figures[Protocol.BLOCKED].mean_power
        axis.set_title(f"{table.component} (mean {_watts(power)} W)")
        axis.set_xticks(np.arange(len(groups)), groups, rotation=30, ha="right", rotation_mode="anchor")
        axis.set_yticks(np.arange(len(trainers)), trainers)
        axis.grid(False)
        axis.spines[:].set_visible(False)
        _draw_cells(axis, _trained(table), trainers, groups, both)
        axis.set(xlim=(-0.5, len(groups) - 0.5), ylim=(len(trainers) - 0.5, -0.5))
    title = f"{tables[0].output_type} of {tables[0].source}"
    figure.suptitle(f"{title}: mean absolute error (W) on rows that a model had not seen")
    figure.supxlabel(_key(both), fontsize=8.5, color=_PALE)
    save_figure(figure, file)


def _draw_cells(axis: Axes, rows: list[Standing], trainers: list[str], groups: list[str], both: bool) -> None:
    """Draw colours and figures of one component; what was not trained stays white."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, to_rgb
    from matplotlib.patches import Rectangle

    best = min((row for row in rows if row.passes), key=_mae, default=None)
    least = max(_mae(best), 1e-9) if best else 1.0
    shades = LogNorm(least, _FAR * least, clip=True)
    colours = np.ones((len(trainers), len(groups), 3))
    for row in rows:
        x, y = groups.index(row.group), trainers.index(row.trainer)
        shade = float(shades(max(_mae(row), least)))
        colours[y, x] = colormaps["YlOrBr"](0.9 * shade)[:3] if row.passes else to_rgb(_REFUSED)
        ink = _PALE if not row.passes else "white" if shade >= _WHITE_FROM else _INK
        figures = [_blocked(row), _mae(row)] if both else [_mae(row)]
        words = axis.text(
            x, y, "\n".join(map(_watts, figures)), ha="center", va="center", color=ink, fontsize=7.5,
            fontweight="bold" if row is best else "normal",
        )  # fmt: skip
        words.set_in_layout(False)  # it is inside of its cell: to measure hundreds of them takes long
    axis.pcolormesh(np.arange(len(groups)), np.arange(len(trainers)), colours, edgecolors="white", linewidth=0.8)
    if best:
        corner = groups.index(best.group) - 0.5, trainers.index(best.trainer) - 0.5
        axis.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=_INK, linewidth=1.6))


def _key(both: bool) -> str:
    figures = "Held out: blocks of time" + (" (upper figure), and whole loads (lower figure)." if both else ".")
    return f"{figures}\nFrame: the best. Darkest: {_FAR:g} times its error or more. Grey: refused, not published."


def _trained(table: Table) -> list[Standing]:
    return [row for row in table.rows if not row.trivial]


def _best_first(tables: list[Table]) -> list[str]:
    """Return trainers by the error of their best model, which is that of its worst component."""
    worst: dict[tuple[str, str], float] = {}
    for table in tables:
        for row in _trained(table):
            key = (row.trainer, row.group)
            worst[key] = max(worst.get(key, 0.0), _mae(row))
    return list(dict.fromkeys(trainer for trainer, _ in sorted(worst, key=lambda key: (worst[key], key))))


def _mae(row: Standing) -> float:
    return row.farthest.mae


def _blocked(row: Standing) -> float:
    return row.figures[Protocol.BLOCKED].mae


def _watts(value: float) -> str:
    """Return watts with three significant digits."""
    if value >= 1e4:
        return f"{value:.0e}".replace("e+0", "e")
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
