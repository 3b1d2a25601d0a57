"""The retry policy: which failed requests to Prometheus are repeated, how often, and after which pause."""

from __future__ import annotations

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential,
    wait_random,
)

from kepler_train.errors import TryAgain
from kepler_train.events import warn

ATTEMPTS = 4
PATIENCE = 120.0  # s after the first attempt, from which on no further one is made
FIRST_PAUSE, JITTER = 0.5, 1.0  # s; the pause doubles with every attempt, and gets a random part
# A server may ask for a longer pause than a person or a task should sit through; the scheduler tries again later.
LONGEST_REQUESTED_PAUSE = 120.0  # s


class Busy(TryAgain):
    """The failure of a server that asks for a pause (s), or None when it names none."""

    def __init__(self, text: str, pause: float | None = None) -> None:
        super().__init__(text)
        self.pause = pause


def attempts() -> Retrying:
    """Return the attempts at one request: `for attempt in attempts(): with attempt: …`; the last one raises."""
    return Retrying(
        retry=retry_if_exception(_may_pass),
        stop=stop_after_attempt(ATTEMPTS) | stop_after_delay(PATIENCE),
        wait=_pause,
        before_sleep=_announce,
        reraise=True,
    )


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, Busy) and error.pause is not None:
        return error.pause <= LONGEST_REQUESTED_PAUSE
    return isinstance(error, TryAgain)


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, Busy) and error.pause is not None:
        return error.pause
    return (wait_exponential(FIRST_PAUSE) + wait_random(0, JITTER))(state)


def _announce(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    warn(f"{error} Trying again in {state.upcoming_sleep:.1f} s.")
