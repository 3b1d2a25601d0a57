"""Events in a task log: one line each, for people or, on request, as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TextIO

from kepler_train.addresses import without_secrets

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class LogFormat(StrEnum):
    """The form of log lines."""

    HUMAN = "human"
    JSON = "json"


_format = LogFormat.HUMAN
# Characters of a line for people; names and answers of others may be of any length.
_LONGEST_LINE = 8000


def use_format(chosen: LogFormat) -> None:
    """Choose the form of every later line of this process."""
    global _format
    _format = chosen


def used_format() -> LogFormat:
    """Return the form of lines that was chosen, for processes that this one starts."""
    return _format


def say(text: str, **fields: Any) -> None:
    """Log one event on stdout; `fields` are for machines and only shown in JSON."""
    _write(sys.stdout, "info", text, fields)


def blank() -> None:
    """Print an empty line between parts for people; none in JSON."""
    if _format is LogFormat.HUMAN:
        print(flush=True)


def warn(text: str, **fields: Any) -> None:
    """Log one event that deserves a look but stops nothing."""
    _write(sys.stdout, "warning", text, fields)


def fail(text: str, **fields: Any) -> None:
    """Log the one sentence that ends a command, on stderr."""
    _write(sys.stderr, "error", text, fields)


def _write(stream: TextIO, level: str, text: str, fields: dict[str, Any]) -> None:
    if _format is LogFormat.JSON:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = _json_line(_without_secrets({"time": now, "level": level, "event": text, **fields}))
    else:
        shown = without_secrets(text)
        line = _printable(" ".join((shown if level == "info" else f"{level}: {shown}").splitlines()))
    print(line, file=stream, flush=True)


def _printable(line: str) -> str:
    """Return one line that any terminal takes: names of others may have half a character, or move the cursor."""
    if not line.isprintable():
        line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _without_secrets(value: Any) -> Any:
    """Return a value with every text in it as it may be shown."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {key: _without_secrets(entry) for key, entry in value.items()}
    return [_without_secrets(entry) for entry in value] if isinstance(value, list | tuple) else value


def _json_line(record: dict[str, Any]) -> str:
    try:
        return json.dumps(record, default=str, allow_nan=False)
    except ValueError:  # NaN and infinity are not JSON: null
        loose = json.dumps(record, default=str)
        return json.dumps(json.loads(loose, parse_constant=lambda _: None))


class Progress:
    """Progress of long work: a bar on a terminal, elsewhere a line at most every `every` seconds."""

    def __init__(self, what: str, total: float, unit: str, every: float) -> None:
        self._what, self._total, self._unit, self._every = what, total, unit, every
        self._done = 0.0
        self._started = self._reported = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def advance(self, amount: float, note: str = "") -> None:
        """Add `amount` to what is done; `note` is shown behind the figures."""
        self._done += amount
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
            return
        now = time.monotonic()
        if now - self._reported < self._every:
            return
        self._reported = now
        rate = self._done / max(now - self._started, 1e-9)
        percent = 100 * self._done / self._total if self._total else 100.0
        say(
            f"{self._what}: {percent:.0f} % ({self._done:,.0f} of {self._total:,.0f} {self._unit}{_pace(rate)})"
            f"{' ' + note if note else ''}",
            percent=round(percent, 1),
            rate=round(rate, 3),
        )


def _pace(rate: float) -> str:
    """Format a rate as '12/s', or '30/min' below one per second. Empty when next to nothing is done."""
    if rate >= 0.95:  # not 57/min and more
        return f", {rate:,.0f}/s"
    return f", {60 * rate:.0f}/min" if 60 * rate >= 1 else ""


@contextmanager
def progress(what: str, total: float, unit: str, every: float = 5.0) -> Iterator[Progress]:
    """Report on work of `total` units: `with progress("query", 40, "requests") as p: p.advance(1)`."""
    shown = Progress(what, total, unit, every)
    if _format is LogFormat.HUMAN and sys.stdout.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with RichProgress(*columns, TextColumn(unit), TimeRemainingColumn(), transient=True) as bar:
            shown._bar, shown._task = bar, bar.add_task(what, total=total)
            yield shown
    else:
        yield shown
