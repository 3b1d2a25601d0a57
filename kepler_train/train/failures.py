"""Trainers that fail while `auto` goes on without them: each is named once, with its first reason."""

from __future__ import annotations

import threading

from kepler_train.errors import KeplerTrainError
from kepler_train.events import warn


class TrainerFailures:
    """The trainers that failed in any fit of one model, with every component and fold."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self._lock = threading.Lock()  # folds may be fitted at once

    def add(self, name: str, component: str, error: BaseException) -> None:
        """Record a trainer that fails, and warn the first time: it mostly fails in every fold, for one reason."""
        sentence = " ".join(str(error).split())
        reason = sentence if isinstance(error, KeplerTrainError) else f"{type(error).__name__}: {sentence}"
        with self._lock:
            first = name not in self.reasons
            self.reasons.setdefault(name, reason.rstrip(".: "))
        if first:
            warn(f"auto: {name} fails and is left out, for {component} at least: {self.reasons[name]}")
