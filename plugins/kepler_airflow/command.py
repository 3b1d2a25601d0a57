"""The command of a step, the same for every runtime. Strings are Airflow templates."""

from __future__ import annotations

from kepler_airflow.settings import settings
from kepler_train.query.trusted_servers import LISTED
from kepler_train.runs.registry import STEPS

PLAN, STRESS = "plan", "stress"

# Nightly runs and backfills have a window each. Airflow infers one for a run that somebody triggers, too, from the
# logical date that its form presets; that run learns from what the form says, before that date.
_INTERVAL = (
    "{{ '' if dag_run.run_type == 'manual' or not dag_run.data_interval_start else"
    " dag_run.data_interval_start.isoformat() ~ '/' ~ dag_run.data_interval_end.isoformat() }}"
)
_BEFORE = "{{ dag_run.logical_date.isoformat() if dag_run.run_type == 'manual' and dag_run.logical_date else '' }}"
_LAST = "{{ 'true' if run_parameters.chosen(params, 'window_seconds') else 'false' }}"
# The same for all tries of a task; another one after it was cleared, and for a new run of an old id.
_REQUEST = "{{ dag_run.start_date.isoformat() ~ '/' ~ dag_run.clear_number if dag_run.start_date else '' }}"

_OUTSIDE = {"KEPLER_TRAIN_REQUEST": _REQUEST, "KEPLER_TRAIN_REUSE": "{{ 'true' if params.reuse else 'false' }}"}


def arguments(step: str, part: str = "") -> list[str]:
    """Return the arguments of `kepler-train`."""
    run = "{{ params.pipeline }}/{{ run_id }}"
    chosen = ["--part", part] if part else []
    return ["run-step", step, "--workspace", settings().workspace, "--run", run, *chosen]


def environment(step: str) -> dict[str, str]:
    """Return which servers may have credentials and, for the plan, the run's parameters and its window.

    A pod has the credentials from a secret, but neither the environment nor the files of this installation.
    """
    always = {LISTED: ",".join(settings().trusted_servers)}
    if step != PLAN:
        return always | (_OUTSIDE if STEPS[step].outside else {})
    return always | {
        "KEPLER_TRAIN_SPEC": "{{ run_parameters(params) | tojson }}",
        "KEPLER_TRAIN_INTERVAL": _INTERVAL,
        "KEPLER_TRAIN_NOW": "{{ dag_run.run_after.isoformat() }}",
        "KEPLER_TRAIN_BEFORE": _BEFORE,
        "KEPLER_TRAIN_LAST": _LAST,
        "KEPLER_TRAIN_CHECK": "true",
        "KEPLER_TRAIN_RUN_TYPE": "{{ dag_run.run_type.value }}",
    }
