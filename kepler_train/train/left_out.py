"""Trainers that fail while others go on without them: each is named once, with the reason of the first time."""

from __future__ import annotations

import threading

from kepler_train.errors import KeplerTrainError
from kepler_train.events import warn


class LeftOut:
    """What failed in all fits of one model, of every component and fold."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self._lock = threading.Lock()  # folds may be fitted at once

    def add(self, name: str, component: str, error: BaseException) -> None:
        """Note a trainer that fails, and say so the first time: it fails in every fold, mostly, and for one reason."""
        sentence = " ".join(str(error).split())
        reason = sentence if isinstance(error, KeplerTrainError) else f"{type(error).__name__}: {sentence}"
        with self._lock:
            first = name not in self.reasons
            self.reasons.setdefault(name, reason.rstrip(".: "))
        if first:
            warn(f"auto: {name} fails and is left out, for {component} at least: {self.reasons[name]}")
