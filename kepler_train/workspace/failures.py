"""Why a part of a step failed, kept where its result would be, for the step that reports on all parts.

A result replaces it: a part that succeeded has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pydantic import BaseModel, ConfigDict

from kepler_train import strict_json
from kepler_train.addresses import without_secrets
from kepler_train.errors import KeplerTrainError
from kepler_train.events import warn
from kepler_train.spec import RunSpec
from kepler_train.workspace.layout import Run

FAILURE = "failure.json"


class _Failure(BaseModel):
    model_config = ConfigDict(frozen=True)

    spec_digest: str
    reason: str


@contextmanager
def noting_failure(run: Run, step: str, part: str, spec: RunSpec) -> Iterator[None]:
    """Keep the reason when the work on a part of a step fails."""
    try:
        yield
    except Exception as error:
        if part:
            _keep(run, step, part, _Failure(spec_digest=spec.digest(), reason=_reason(error, run)))
        raise


def failure_reasons(run: Run, step: str, parts: Iterable[str], spec: RunSpec) -> dict[str, str]:
    """Return why parts of a step failed by this spec, for those whose reason was kept."""
    reasons = {}
    for part in parts:
        content = run.store.read(f"{run.folder(step, part)}/{FAILURE}", recheck=False)  # a reason more or less
        try:
            failure = _Failure.model_validate(strict_json.parse(content or b""))
        except ValueError:  # also of pydantic
            continue
        if failure.spec_digest == spec.digest():
            reasons[part] = failure.reason
    return reasons


def _reason(error: Exception, run: Run) -> str:
    if isinstance(error, KeplerTrainError):
        return without_secrets(str(error))
    return f"It met a bug, {type(error).__name__}: please report it with {run.log}."


def _keep(run: Run, step: str, part: str, failure: _Failure) -> None:
    key = f"{run.folder(step, part)}/{FAILURE}"
    try:
        run.store.write(key, failure.model_dump_json(indent=1).encode())
    except (KeplerTrainError, OSError) as error:  # what went wrong first is what matters
        warn(f"The reason is not kept in {run.store.uri}/{key}: {error}")
