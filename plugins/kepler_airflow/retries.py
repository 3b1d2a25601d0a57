"""Which failures of a step Airflow retries, and how often: the same for every runtime."""

from __future__ import annotations

import logging
from datetime import timedelta

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from kepler_train.errors import DataError, Skipped, TryAgain, UserError

_log = logging.getLogger("airflow.task")

RETRIES = {
    "retries": 3,
    "retry_delay": timedelta(seconds=10),
    "retry_exponential_backoff": True,
    "max_retry_delay": timedelta(minutes=5),
}
"""Arguments of every task. What may pass is worth a few tries, further and further apart."""

_NEVER_RETRIED = {UserError.exit_code, DataError.exit_code}


def raise_for(step: str, exit_code: int | None, said: str = "") -> None:
    """Fail the task for good, fail it so that it is retried, skip it, or do nothing when the step is done.

    `exit_code` is None when the step vanished without one, as a deleted pod does; a negative code, or one above
    128, is the signal that ended it.
    """
    sentence = said.removeprefix("error: ").strip()
    if exit_code == 0:
        return
    if exit_code == Skipped.exit_code:
        raise AirflowSkipException(sentence or f"The step {step} had nothing to do; see its log above.")
    if exit_code in _NEVER_RETRIED:
        raise AirflowFailException(sentence or f"The step {step} ended with exit code {exit_code}; see its log above.")
    if exit_code == TryAgain.exit_code:
        raise AirflowException(sentence or f"The step {step} asks to be tried again; see its log above.")
    signal = 0 if exit_code is None else -exit_code if exit_code < 0 else exit_code - 128
    if exit_code is None or signal > 0:
        how = "vanished" if exit_code is None else f"was killed by signal {signal}"
        sentence = f"The step {step} {how} before it was done."
        _log.error("%s", sentence)  # the step could not say so itself
        raise AirflowException(sentence)
    raise AirflowFailException(f"The step {step} ended with exit code {exit_code}: a bug; see the traceback above.")
