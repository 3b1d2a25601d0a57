"""Counts of what was tried and what went wrong, as rows of a Markdown table."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

_began = time.monotonic()


@dataclass
class Row:
    """What was tried in one way, and every problem with the sentence that tells it."""

    name: str
    tried: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    other: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, *also: str) -> None:
        """Count one more try, and what it was besides."""
        with self._lock:
            self.tried += 1
            self.other.update(also)

    def problem(self, kind: str, sentence: str) -> None:
        """Note that something went wrong."""
        with self._lock:
            self.problems.append((kind, sentence))
        print(f"  PROBLEM, {kind}: {sentence}", file=sys.stderr, flush=True)


def table(rows: list[Row], tried: str, other: list[str], kinds: list[str]) -> str:
    """Return the rows with their sum: how often it was tried, and how often it went wrong in each way."""
    head = [rows[0].name if len(rows) == 1 else "", tried, *other, *kinds]
    lines = ["| " + " | ".join(["", *head[1:]]) + " |", "|---|" + "---:|" * (len(head) - 1)]
    total = Row("all", sum(row.tried for row in rows))
    for row in rows:
        total.problems += row.problems
        total.other += row.other
    for row in [*rows, total] if len(rows) > 1 else rows:
        found = Counter(kind for kind, _ in row.problems)
        cells = [row.tried, *(row.other[name] for name in other), *(found[kind] for kind in kinds)]
        lines.append(f"| {row.name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    unknown = {kind for kind, _ in total.problems} - set(kinds)
    assert not unknown, f"no column for {unknown}"
    return "\n".join(lines)


def progress(words: str) -> None:
    """Tell on stderr how far it is."""
    print(f"{time.monotonic() - _began:5.0f} s  {words}", file=sys.stderr, flush=True)
