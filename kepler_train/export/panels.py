"""Panels of a picture: a frame with ticks and their numbers, several beside and below each other, and a legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kepler_train.arrays import Positions
from kepler_train.export.canvas import LARGE, NORMAL, PALE, UPRIGHT, Canvas, Point, width_of

Numbers = npt.NDArray[np.floating]
# Colours that are told apart side by side; beyond them they come again.
COLOURS = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#7f7f7f",
    "#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#c49c94", "#f7b6d2", "#dbdb8d", "#9edae5", "#c7c7c7",
)  # fmt: skip
MARGIN = 12  # of a picture (pixels)
_LEFT, _ABOVE, _BELOW = 70, 45, 45  # of a panel: room for its labels and its title (pixels)
_LINE = 18  # of a legend (pixels)
_MARK = 22  # room for the mark before a name (pixels)
_NAME = 48  # letters of a name in a legend
_GREY = "#999999"


@dataclass(frozen=True)
class Panel:
    """A frame on a canvas whose sides stand for numbers."""

    canvas: Canvas
    left: float
    top: float
    width: float
    height: float
    across: tuple[float, float]
    up: tuple[float, float]

    def places(self, x: Numbers, y: Numbers) -> Iterator[Point]:
        """Where points are on the canvas; those beyond the frame are left out."""
        right = (x - self.across[0]) / (self.across[1] - self.across[0])
        high = (y - self.up[0]) / (self.up[1] - self.up[0])
        inside = (right >= 0) & (right <= 1) & (high >= 0) & (high <= 1)
        return zip(
            (self.left + self.width * right[inside]).tolist(),
            (self.top + self.height * (1 - high[inside])).tolist(),
            strict=True,
        )

    def frame(self, title: str, below: str, beside: str) -> None:
        """Draw the frame, ticks with their numbers, and what they are."""
        canvas, bottom, right = self.canvas, self.top + self.height, self.left + self.width
        canvas.box((self.left, self.top), (right, bottom), edge=_GREY)
        for value in ticks(*self.across):
            x = self.left + self.width * (value - self.across[0]) / (self.across[1] - self.across[0])
            canvas.line([(x, bottom), (x, bottom + 4)], _GREY)
            canvas.text((x, bottom + 6), number(value), anchor="ma")
        for value in ticks(*self.up):
            y = bottom - self.height * (value - self.up[0]) / (self.up[1] - self.up[0])
            canvas.line([(self.left - 4, y), (self.left, y)], _GREY)
            canvas.text((self.left - 7, y), number(value), anchor="rm")
        canvas.text((self.left + self.width / 2, bottom + 22), below, anchor="ma")
        canvas.turned_text((self.left - 52, self.top + self.height / 2), beside, UPRIGHT)
        for line, words in enumerate(reversed(title.splitlines())):
            canvas.text((self.left + self.width / 2, self.top - 6 - 15 * line), words, NORMAL + 1, anchor="md")


@dataclass(frozen=True)
class Grid:
    """Places for panels of one size (pixels) in lines of `columns`."""

    count: int
    width: float
    height: float
    columns: int
    top: float = 0  # room for what is above all panels

    @property
    def size(self) -> tuple[float, float]:
        """Of all panels with their labels."""
        columns = min(self.columns, self.count)
        lines = -(-self.count // columns)
        return columns * self._wide + MARGIN, self.top + lines * self._high + MARGIN

    def place(self, number: int) -> Point:
        """The upper left corner of a panel's frame."""
        line, column = divmod(number, min(self.columns, self.count))
        return column * self._wide + _LEFT, self.top + line * self._high + _ABOVE

    @property
    def _wide(self) -> float:
        return _LEFT + self.width + MARGIN

    @property
    def _high(self) -> float:
        return _ABOVE + self.height + _BELOW


@dataclass(frozen=True)
class Legend:
    """Names with their colours below all panels, as many in a line as fit: those of dots, and those of lines."""

    dots: dict[str, str]
    width: float
    title: str = ""
    lines: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _names(self) -> list[str]:
        return [_short(name) for name in (*self.dots, *self.lines)]

    @cached_property
    def _widest(self) -> float:
        return max(map(width_of, self._names)) + _MARK + MARGIN

    @cached_property
    def _columns(self) -> int:
        return max(1, min(len(self._names), int((self.width - 2 * MARGIN) / self._widest)))

    @property
    def height(self) -> float:
        """The room that it takes."""
        return (-(-len(self._names) // self._columns) + bool(self.title)) * _LINE + MARGIN

    def draw(self, canvas: Canvas, top: float) -> None:
        """Draw it below a line."""
        start = (self.width - self._columns * self._widest) / 2
        if self.title:
            canvas.text((self.width / 2, top), self.title, anchor="ma", colour=PALE)
            top += _LINE
        for place, (name, colour) in enumerate(zip(self._names, (self.dots | self.lines).values(), strict=True)):
            line, column = divmod(place, self._columns)
            x, y = start + column * self._widest, top + (line + 0.5) * _LINE
            if place < len(self.dots):
                canvas.dots([(x + 14, y)], colour, radius=4, alpha=1)
            else:
                canvas.line([(x, y), (x + 18, y)], colour, width=2)
            canvas.text((x + _MARK, y), name, anchor="lm")


def _short(name: str) -> str:
    """A name on one line; a workload may have any."""
    line = " ".join(name.split())
    return line if len(line) <= _NAME else f"{line[: _NAME - 1]}…"


def heading(canvas: Canvas, words: str) -> None:
    """The title of a picture."""
    canvas.text((MARGIN, MARGIN), words, LARGE)


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """A colour for every name, in their order."""
    return {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}


def thinned(rows: Positions, points: int) -> Positions:
    """So many rows at most, evenly spread: more of them hide what they show."""
    return rows[:: max(1, -(-len(rows) // points))]


def limits(*values: Numbers) -> tuple[float, float]:
    """The smallest and the largest number with some room around them, never below 0 where none of them is."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return (max(0.0, low - room) if low >= 0 else low - room), high + room


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two others, about six of them."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((own * power for own in (1, 2, 5, 10)), key=lambda step: abs(math.log(step / rough)))
    first = math.ceil(low / step - 1e-9)
    return [count * step for count in range(first, math.floor(high / step + 1e-9) + 1)]


def number(value: float) -> str:
    """A number in few letters, thousands as k, millions as M and so on."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {letter}"
    return f"{value:.4g}"
