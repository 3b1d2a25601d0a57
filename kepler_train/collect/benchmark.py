"""`<benchmark>.json`: when a benchmark ran, as `{"startTimeUTC": "2023-11-14T22:13:20Z", "endTimeUTC": …}`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from kepler_train.errors import UserError


def read_benchmark(file: Path) -> tuple[datetime, datetime]:
    """The window of a benchmark (UTC)."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        start, end = (datetime.fromisoformat(content[name]) for name in ("startTimeUTC", "endTimeUTC"))
    except OSError as error:
        raise UserError(f"The benchmark {file} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError):
        raise UserError(f"{file} is not a benchmark: it needs startTimeUTC and endTimeUTC.") from None
    # The names of the fields say UTC, so a time without a zone is UTC too.
    return tuple(m.astimezone(UTC) if m.tzinfo else m.replace(tzinfo=UTC) for m in (start, end))  # type: ignore[return-value]


def write_benchmark(file: Path, start: datetime, end: datetime) -> None:
    """Write the window of a benchmark."""
    content = {"startTimeUTC": _iso(start), "endTimeUTC": _iso(end)}
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _iso(moment: datetime) -> str:
    return f"{moment.astimezone(UTC).isoformat(timespec='milliseconds' if moment.microsecond else 'seconds')[:-6]}Z"
