"""Count outcomes, print them as a table, and keep the cases that failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.case import Case
from fuzz.outcome import ACCEPTED, CRASH, HANG, MEMORY, OUTSIDE, REFUSED, SENTENCE, TRACEBACK, Outcome

_COLUMNS = [
    "kind",
    "cases",
    "refused",
    "accepted",
    "crashes",
    "hangs",
    "over 1 GB",
    "tracebacks",
    "others",
    "cases/s",
    "seed",
]
_KEPT = 3  # cases of one cause


@dataclass
class Tally:
    """The outcomes of one kind."""

    kind: str
    seed: int
    command: Callable[[int], str] = str  # how to repeat a case
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[Outcome]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.counts[outcome.result] += 1
        if outcome.failed:
            self.failures.setdefault(alike(outcome.cause), []).append(outcome)

    def failure_lines(self) -> list[str]:
        """Return a line for each cause, with how to repeat its first case."""
        return [
            f"{len(outcomes)} × {cause}\n      {self.command(outcomes[0].number)}"
            for cause, outcomes in self.failures.items()
        ]

    def cells(self) -> list[str]:
        """Return the row of the table."""
        results = (REFUSED, ACCEPTED, CRASH, HANG, MEMORY, TRACEBACK)
        counts = [self.counts.total(), *(self.counts[result] for result in results)]
        others = self.counts[SENTENCE] + self.counts[OUTSIDE]
        pace = self.counts.total() / max(self.seconds, 1e-9)
        return [self.kind, *(f"{count:,}" for count in (*counts, others)), f"{pace:,.0f}", str(self.seed)]

    def line(self) -> str:
        """Return the row as a line of progress."""
        return ", ".join(f"{name} {cell}" for name, cell in zip(_COLUMNS, self.cells(), strict=True))


def alike(cause: str) -> str:
    """Return a cause without the names and numbers that differ between cases of one bug."""
    what, bracket, where = cause.rpartition(" [")
    return re.sub(r"""'[^']*'|"[^"]*"|-?\d[\d.]*""", "…", what) + bracket + where if bracket else cause


def table(tallies: list[Tally]) -> str:
    """Return all kinds and their sum as a table in Markdown."""
    total = Tally("all", tallies[0].seed, seconds=sum(tally.seconds for tally in tallies))
    for tally in tallies:
        total.counts += tally.counts
    rows = [_COLUMNS, ["---", *["--:"] * (len(_COLUMNS) - 1)], *(tally.cells() for tally in [*tallies, total])]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def keep_failure(folder: Path, tally: Tally, outcome: Outcome, case: Case) -> None:
    """Write a case that failed, unless there are some of its cause, with what is known and how to repeat it."""
    if len(tally.failures[alike(outcome.cause)]) > _KEPT:
        return
    place = folder / tally.kind / f"{tally.seed}-{outcome.number}"
    place.mkdir(parents=True, exist_ok=True)
    (place / case.form).write_bytes(case.content)
    (place / "why.txt").write_text(
        f"{tally.command(outcome.number)}\n{outcome.cause}\n\n{outcome.detail}\n", errors="backslashreplace"
    )
