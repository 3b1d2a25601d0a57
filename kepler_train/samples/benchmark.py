"""`<benchmark>.json`: when a benchmark ran, as `{"startTimeUTC": "2023-11-14T22:13:20Z", "endTimeUTC": …}`.

The manifest of a stress run serves too: from the start of its first phase to the end of its last.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kepler_train import strict_json
from kepler_train.errors import UserError
from kepler_train.machine.spec import MachineSpec
from kepler_train.samples.schedule import Schedule, schedule_in

_START, _END = "startTimeUTC", "endTimeUTC"


def read_benchmark(file: Path) -> tuple[datetime, datetime]:
    """Return the window of a benchmark or of a stress run (UTC)."""
    content = _content(file)
    if (schedule := _schedule(content, file)) is not None:
        if not schedule.phases:
            raise UserError(f"{file} has no phases, so it says nothing of a window.")
        return schedule.span()
    try:
        start, end = (_utc(datetime.fromisoformat(content[name])) for name in (_START, _END))
    except (ValueError, TypeError, KeyError, OverflowError):
        raise UserError(
            f"{file} is not a benchmark: it needs startTimeUTC and endTimeUTC, or the phases of a stress run."
        ) from None
    return start, end


def stressed_machine(file: Path) -> MachineSpec | None:
    """Return the machine of a stress manifest; None for a benchmark, which names none."""
    schedule = _schedule(_content(file), file)
    return schedule.machine if schedule else None


def is_benchmark(file: Path) -> bool:
    """Return whether a file is a benchmark, so that nothing else is overwritten."""
    try:
        content = _content(file)
    except UserError:
        return False
    return isinstance(content, dict) and content.keys() <= {_START, _END}


def write_benchmark(file: Path, start: datetime, end: datetime) -> None:
    """Write the window of a benchmark."""
    content = {_START: _iso(start), _END: _iso(end)}
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _content(file: Path) -> Any:
    try:
        text = file.read_bytes()
    except OSError as error:
        raise UserError(f"The benchmark {file} cannot be read: {error.strerror}.") from None
    return strict_json.read(text, f"The benchmark {file}")


def _schedule(content: Any, file: Path) -> Schedule | None:
    if not isinstance(content, dict) or "phases" not in content:
        return None
    return schedule_in(content, file)


def _utc(moment: datetime) -> datetime:
    """Return a moment in UTC; a time without a zone is UTC already, as the names of the fields say."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _iso(moment: datetime) -> str:
    return f"{moment.astimezone(UTC).isoformat(timespec='milliseconds' if moment.microsecond else 'seconds')[:-6]}Z"
