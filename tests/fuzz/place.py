"""The folder of a child: what it prints, its results, and where its cases live."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from fuzz.outcome import Outcome


@dataclass(frozen=True)
class Place:
    """The folder of a child."""

    folder: Path

    @property
    def output(self) -> Path:
        """What the case at hand has printed, with the stack where it crashed."""
        return self.folder / "output"

    @property
    def results(self) -> Path:
        """A line per case that ended."""
        return self.folder / "results.jsonl"

    @property
    def box(self) -> Path:
        """What holds the folder of the case at hand, and nothing else."""
        return self.folder / "box"

    @property
    def work(self) -> Path:
        """The folder of the case at hand."""
        return self.box / "work"

    @property
    def temporary(self) -> Path:
        """The folder of temporary files, and the home of the child."""
        return self.folder / "tmp"

    def outcomes(self) -> list[Outcome]:
        """Return the results so far."""
        return [Outcome(**json.loads(line)) for line in self.results.read_text().splitlines()]
