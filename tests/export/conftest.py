"""Pictures as they are drawn."""

from __future__ import annotations

from typing import Any

import pytest
from drawn import Drawn
from matplotlib.figure import Figure
from matplotlib.text import Text


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:
    """Every picture that is saved, with the texts that were written on it."""
    pictures: list[Drawn] = []
    texts: dict[int, Text] = {}
    save, draw = Figure.savefig, Text.draw

    def noted_text(self: Text, renderer: Any) -> None:
        if self.get_visible() and self.get_text():
            texts[id(self)] = self
        draw(self, renderer)

    def noted_figure(self: Figure, *arguments: Any, **options: Any) -> None:
        texts.clear()
        save(self, *arguments, **options)
        pictures.append(Drawn.of(self, texts.values()))

    monkeypatch.setattr(Text, "draw", noted_text)
    monkeypatch.setattr(Figure, "savefig", noted_figure)
    return pictures
