"""A case: one input, made from (kind, seed, number), or stored because it once broke something."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Protocol, cast

# By kind, its share of a run: what takes long per case gets fewer of them.
SHARES = {
    "models": 12,
    "trees": 20,
    "queries": 6,
    "answers": 25,
    "frames": 4,
    "specs": 12,
    "schedules": 15,
    "nodes": 12,
    "pages": 8,
}
FAULTY = "faulty"  # a kind whose cases fail, to test the harness by
STORED = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """What is given, and its form: the one of a kind's several inputs that it takes the place of."""

    form: str
    content: bytes


class Kind(Protocol):
    """A module of `fuzz.kinds`."""

    def seeds(self, folder: Path) -> list[Case]:
        """Return valid inputs, the same every time; what calls need besides is written to the folder."""

    def mutate(self, case: Case, random: Random) -> Case:
        """Return a changed input."""

    def call(self, case: Case, seeds: Path, work: Path) -> None:
        """Give an input to the function or command that reads it, in the empty folder `work`."""


def kind_of(name: str) -> Kind:
    """Return the module of a kind."""
    return cast("Kind", import_module(f"fuzz.kinds.{name}"))


def stored_cases(kind: str) -> dict[str, Case]:
    """Return the cases that once broke something, `<form>/<what>` each."""
    files = sorted(file for file in (STORED / kind).glob("*/*") if file.is_file())
    return {f"{file.parent.name}/{file.name}": Case(file.parent.name, file.read_bytes()) for file in files}


@dataclass(frozen=True)
class Source:
    """All cases of a kind by number: new ones from 0 on, stored ones below."""

    kind: str
    seeds: list[Case]
    stored: dict[str, Case]
    seed: int

    def __call__(self, number: int) -> Case:
        """Return the case of a number: the same whenever and wherever it is made."""
        if number < 0:
            return list(self.stored.values())[-1 - number]
        random = Random(f"{self.kind}/{self.seed}/{number}")
        return kind_of(self.kind).mutate(random.choice(self.seeds), random)

    def stored_numbers(self) -> list[int]:
        """Return the numbers of the stored cases."""
        return [-1 - number for number in range(len(self.stored))]

    def command(self, number: int) -> str:
        """Return how to repeat a case."""
        name = f"  # cases/{self.kind}/{list(self.stored)[-1 - number]}" if number < 0 else ""
        return f"make fuzz KIND={self.kind} SEED={self.seed} NUMBER={number}{name}"
