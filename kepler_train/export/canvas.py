"""A picture of dots, lines and words, drawn with Pillow.

matplotlib takes 50 ms of CPU time for a pair of axes, 1.5 ms for a word and half a second to start: seconds for the
pictures of a run, which are a few dozen panels with hundreds of figures. Here they take a tenth of that.
Places are pixels from the upper left. Shapes are drawn twice as large and made smaller, which smooths them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image, ImageFont

Point = tuple[float, float]
INK, PALE = "#222222", "#666666"
SMALL, NORMAL, LARGE = 10, 11, 15  # sizes of letters
UPRIGHT = 90.0  # degrees
_SMOOTH = 2


class Canvas:
    """A white picture to draw on; words are above all shapes."""

    def __init__(self, width: float, height: float) -> None:
        from PIL import Image, ImageDraw

        self._size = round(width), round(height)
        self._large = Image.new("RGB", (_SMOOTH * self._size[0], _SMOOTH * self._size[1]), "white")
        self._shapes = ImageDraw.Draw(self._large, "RGBA")
        self._words: list[tuple[Point, str, int, str, str, bool]] = []
        self._turned: list[tuple[Point, str, float]] = []

    def line(self, points: Iterable[Point], colour: str = INK, width: float = 1.0) -> None:
        """A line through points."""
        places = [(_SMOOTH * x, _SMOOTH * y) for x, y in points]
        self._shapes.line(places, fill=colour, width=round(_SMOOTH * width), joint="curve")

    def box(self, first: Point, last: Point, fill: str | None = None, edge: str | None = None, width: int = 1) -> None:
        """A box between two corners."""
        corners = [(_SMOOTH * x, _SMOOTH * y) for x, y in (first, last)]
        self._shapes.rectangle(corners, fill=fill, outline=edge, width=_SMOOTH * width)

    def dots(self, points: Iterable[Point], colour: str, radius: float = 1.5, alpha: float = 0.6) -> None:
        """A dot at every point, through which one sees what is below."""
        fill, size = f"{colour}{round(255 * alpha):02x}", _SMOOTH * radius
        for x, y in points:
            left, top = _SMOOTH * x - size, _SMOOTH * y - size
            self._shapes.ellipse((left, top, left + 2 * size, top + 2 * size), fill=fill)

    def text(
        self, place: Point, words: str, size: int = NORMAL, anchor: str = "la", colour: str = INK, bold: bool = False
    ) -> None:
        """Words at a place, which is their (l)eft, (m)iddle or (r)ight, and their (a)bove, (m)iddle or (d)own."""
        self._words.append((place, words, size, anchor, colour, bold))

    def turned_text(self, place: Point, words: str, angle: float) -> None:
        """Words turned against the clock by an angle, with their end at a place; upright ones with their middle."""
        self._turned.append((place, words, angle))

    def save(self, file: Path) -> None:
        """Write the picture."""
        from PIL import ImageDraw

        picture = self._large.reduce(_SMOOTH)
        draw = ImageDraw.Draw(picture)
        for place, words, size, anchor, colour, bold in self._words:
            draw.text(place, words, fill=colour, font=_font(size, bold), anchor=anchor)
        for (x, y), words, angle in self._turned:
            mask = _turned(words, NORMAL, angle)
            left, top = (x - mask.width / 2, y - mask.height / 2) if angle == UPRIGHT else (x - mask.width, y)
            picture.paste(INK, (round(left), round(top)), mask)
        picture.save(file)


def width_of(words: str, size: int = NORMAL) -> float:
    """The width of words (pixels)."""
    return _font(size).getlength(words)


def _turned(words: str, size: int, angle: float) -> Image.Image:
    """Turned words as a mask."""
    from PIL import Image, ImageDraw

    mask = Image.new("L", (round(width_of(words, size)) + 1, round(1.4 * size)), 0)
    ImageDraw.Draw(mask).text((0, mask.height / 2), words, fill=255, font=_font(size), anchor="lm")
    return mask.rotate(angle, expand=True, resample=Image.Resampling.BICUBIC)


@cache
def _font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which comes with matplotlib and knows most alphabets."""
    from PIL import ImageFont

    spec = find_spec("matplotlib")  # found, not imported
    home = Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else Path()
    name = f"DejaVuSans{'-Bold' if bold else ''}.ttf"
    file = home / "mpl-data" / "fonts" / "ttf" / name
    # The other layout is there only where the system has a library for it; pictures are the same in a pod.
    return ImageFont.truetype(file, size, layout_engine=ImageFont.Layout.BASIC)
