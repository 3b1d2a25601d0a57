"""The errors of all models of a source and output type as a picture: a map of trainers and groups per component."""

from __future__ import annotations

import math
from pathlib import Path

from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.canvas import LARGE, NORMAL, PALE, SMALL, Canvas, width_of
from kepler_train.export.panels import MARGIN, heading
from kepler_train.export.standings import Standing, Table

Cells = dict[tuple[str, str], Standing]
_WIDE, _HIGH = 58, 32  # a cell (pixels): room for two figures below each other
_NARROWEST = 190  # a panel (pixels): room for its title
_ABOVE, _BELOW = 70, 40  # the panels (pixels): titles, and the key
_FAR = 10.0  # times the error of the best: the last colour
# From the error of the best to that, in steps of equal ratio; the figures are white on the last ones.
_COLOURS = ("#ffffe5", "#fff3bc", "#fee391", "#fecb62", "#fca63f", "#f4852c", "#e2641a", "#c54709", "#993404")
_WHITE_FROM = 6
_REFUSED = "#eeeeee"
_TITLE = "mean absolute error (W) on rows that a model had not seen"


def plot_error_map(tables: list[Table], file: Path) -> None:
    """A panel per component: mean absolute error (W) of every trainer on every group, the best trainer at the top."""
    cells: dict[str, Cells] = {
        table.component: {(row.trainer, row.group): row for row in _trained(table)} for table in tables
    }
    trainers, groups = _best_first(tables), sorted({group for own in cells.values() for _, group in own})
    both = any(_mae(row) != _blocked(row) for own in cells.values() for row in own.values())
    wide = max(_WIDE, _NARROWEST / len(groups))
    left, bottom = max(map(width_of, trainers)) + 2 * MARGIN, _ABOVE + _HIGH * len(trainers)
    slant = 0.5 * max(map(width_of, groups)) + 2 * MARGIN  # group names are turned by 30 degrees
    key, title = _key(both), f"{tables[0].output_type} of {tables[0].source}: {_TITLE}"
    words = max(width_of(title, LARGE), *map(width_of, key)) + 2 * MARGIN
    width = max(left + len(tables) * (wide * len(groups) + MARGIN), words)
    canvas = Canvas(width, bottom + slant + _BELOW)
    heading(canvas, title)
    for line, trainer in enumerate(trainers):
        canvas.text((left - 8, _ABOVE + (line + 0.5) * _HIGH), trainer, anchor="rm")
    for number, table in enumerate(tables):
        start = left + number * (wide * len(groups) + MARGIN)
        power = _trained(table)[0].figures[Protocol.BLOCKED].mean_power
        middle = start + wide * len(groups) / 2
        canvas.text((middle, _ABOVE - 6), f"{table.component} (mean {_watts(power)} W)", NORMAL + 1, anchor="md")
        _draw(canvas, start, wide, cells[table.component], trainers, groups, both)
        for column, group in enumerate(groups):
            canvas.turned_text((start + (column + 0.6) * wide, bottom + 4), group, 30)
    for line, sentence in enumerate(key):
        canvas.text((MARGIN, bottom + slant + 16 * line), sentence, colour=PALE)
    canvas.save(file)


def _draw(
    canvas: Canvas, left: float, wide: float, cells: Cells, trainers: list[str], groups: list[str], both: bool
) -> None:
    """Colours and figures of one component; what was not trained stays white."""
    best = min((row for row in cells.values() if row.passes), key=_mae, default=None)
    for (trainer, group), row in cells.items():
        x, y = left + groups.index(group) * wide, _ABOVE + trainers.index(trainer) * _HIGH
        step = _step(_mae(row), _mae(best) if best else _mae(row))
        canvas.box((x, y), (x + wide, y + _HIGH), fill=_COLOURS[step] if row.passes else _REFUSED, edge="#ffffff")
        ink = PALE if not row.passes else "#ffffff" if step >= _WHITE_FROM else "#222222"
        figures = [_blocked(row), _mae(row)] if both else [_mae(row)]
        for line, watts in enumerate(figures):
            middle = y + _HIGH / 2 + (13 * (line - 0.5) if both else 0)
            canvas.text((x + wide / 2, middle), _watts(watts), SMALL, anchor="mm", colour=ink, bold=row is best)
    if best:
        x, y = left + groups.index(best.group) * wide, _ABOVE + trainers.index(best.trainer) * _HIGH
        canvas.box((x, y), (x + wide, y + _HIGH), edge="#222222", width=2)


def _step(watts: float, best: float) -> int:
    """The colour of an error beside that of the best."""
    ratio = math.log(max(watts, 1e-9) / max(best, 1e-9)) / math.log(_FAR)
    return min(max(round(ratio * (len(_COLOURS) - 1)), 0), len(_COLOURS) - 1)


def _key(both: bool) -> list[str]:
    figures = "Held out: blocks of time" + (" (upper figure), and whole loads (lower figure)." if both else ".")
    return [figures, f"Frame: the best. Darkest: {_FAR:g} times its error or more. Grey: refused, not published."]


def _trained(table: Table) -> list[Standing]:
    return [row for row in table.rows if not row.trivial]


def _best_first(tables: list[Table]) -> list[str]:
    """Trainers by the error of their best model, which is that of its worst component."""
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
    """Three digits that count."""
    if value >= 1e4:
        return f"{value:.0e}".replace("e+0", "e")
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
