"""The error of a pipeline's versions over the windows they learnt from, as a small picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kepler_train.publish.version_record import VersionRecord

# In the units of the picture, which the page scales to its width.
WIDTH, HEIGHT, MARGIN = 720, 140, 12


@dataclass(frozen=True)
class Point:
    """A version in the picture."""

    x: float
    y: float
    version: str
    mae: float
    promoted: bool


@dataclass(frozen=True)
class ErrorHistory:
    """The errors (W) of one source and output type, the oldest window first; `top` is the largest."""

    power: str
    top: float
    points: list[Point]

    @property
    def line(self) -> str:
        """Return the corners of the line through all versions."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


def error_histories(versions: Sequence[VersionRecord]) -> list[ErrorHistory]:
    """Return a history for each source and output type that at least two versions have."""
    powers = sorted({power for version in versions for power in version.errors})
    histories = [_history(power, [version for version in versions if power in version.errors]) for power in powers]
    return [history for history in histories if len(history.points) > 1]


def _history(power: str, versions: Sequence[VersionRecord]) -> ErrorHistory:
    """Return the history; the error axis begins at 0 W, so that small changes look small."""
    errors = [version.errors[power].mae for version in versions]
    top = max(errors) or 1.0
    step = (WIDTH - 2 * MARGIN) / max(len(versions) - 1, 1)
    points = [
        Point(
            x=MARGIN + number * step,
            y=HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * mae / top,
            version=version.version,
            mae=mae,
            promoted=version.promoted,
        )
        for number, (version, mae) in enumerate(zip(versions, errors, strict=True))
    ]
    return ErrorHistory(power, top, points)
