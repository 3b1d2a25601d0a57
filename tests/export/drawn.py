"""What a picture shows, noted while it is saved: a figure may be used again for the next one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox


@dataclass(frozen=True)
class Word:
    """A text with its box (pixels from the lower left), its colour, and how it is written."""

    text: str
    box: Bbox
    colour: str
    bold: bool
    level: bool


@dataclass(frozen=True)
class Drawn:
    """A figure, and the texts on it."""

    figure: Figure
    size: tuple[float, float]
    texts: list[Word]

    @classmethod
    def of(cls, figure: Figure, texts: Iterable[Text]) -> Drawn:
        words = [
            Word(text.get_text(), text.get_window_extent(), str(text.get_color()), text.get_weight() == "bold",
                 text.get_rotation() == 0)
            for text in texts
        ]  # fmt: skip
        return cls(figure, (figure.bbox.width, figure.bbox.height), words)

    @property
    def words(self) -> list[str]:
        return [word.text for word in self.texts]
