"""What came of a case, and which of it is a failure."""

from __future__ import annotations

import re
from dataclasses import dataclass

ACCEPTED, REFUSED = "accepted", "refused"
CRASH, HANG, MEMORY, TRACEBACK, SENTENCE, OUTSIDE = "crash", "hang", "over 1 GB", "traceback", "bad sentence", "outside"
FAILURES = (CRASH, HANG, MEMORY, TRACEBACK, SENTENCE, OUTSIDE)

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)(?:,)? in (?P<function>\S+)')
_LIBRARY = "site-packages/"


@dataclass(frozen=True)
class Outcome:
    """The result of a case; `detail` is its sentence, or what is known of its failure."""

    number: int
    result: str
    detail: str = ""
    seconds: float = 0.0
    peak: int = 0  # of the resident memory of the process (MiB)

    @property
    def failed(self) -> bool:
        """Return whether this must not happen."""
        return self.result in FAILURES

    @property
    def cause(self) -> str:
        """Return the failure in a line: what it ended with, and in which function of ours; the same for equal ones."""
        lines = [
            line for line in self.detail.splitlines() if line.strip() and not line.startswith("error: This is a bug")
        ]
        frames = [found for line in lines if (found := _FRAME.search(line))]
        ours = [found for found in frames if "/kepler_train/" in found["file"] and _LIBRARY not in found["file"]]
        # A traceback ends with the innermost frame; the dump of a crash begins with it.
        at = (-1 if "Traceback (most recent" in self.detail else 0) if frames else None
        if at is None:
            return f"{self.result}: {lines[-1][:200] if lines else 'nothing is known'}"
        inner, own = frames[at], (ours or frames)[at]
        last = lines[-1].strip() if at == -1 else lines[0].strip()
        where = f"kepler_train/{own['file'].rpartition('/kepler_train/')[2]}:{own['line']} {own['function']}"
        library = f", in {inner['file'].rpartition(_LIBRARY)[2]} {inner['function']}" if inner is not own else ""
        return f"{self.result}: {last[:160]} [{where}{library}]"
