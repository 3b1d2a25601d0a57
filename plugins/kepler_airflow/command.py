"""The command of a step, the same for every runtime. Strings are Airflow templates."""

from __future__ import annotations

from kepler_airflow.settings import settings
from kepler_train.query.trusted_servers import LISTED

PLAN, STRESS = "plan", "stress"

# A run has no data interval when it was triggered without a logical date.
_INTERVAL = (
    "{{ dag_run.data_interval_start.isoformat() if dag_run.data_interval_start else '' }}"
    "/{{ dag_run.data_interval_end.isoformat() if dag_run.data_interval_end else '' }}"
)


def arguments(step: str, part: str = "") -> list[str]:
    """Return the arguments of `kepler-train`."""
    run = "{{ params.pipeline }}/{{ run_id }}"
    chosen = ["--part", part] if part else []
    return ["run-step", step, "--workspace", settings().workspace, "--run", run, *chosen]


def environment(step: str) -> dict[str, str]:
    """Return which servers may have credentials and, for the plan, the run's parameters and its window.

    A pod has the credentials from a secret, but neither the environment nor the files of this installation.
    """
    trusted = {LISTED: ",".join(settings().trusted_servers)}
    if step != PLAN:
        return trusted
    return trusted | {
        "KEPLER_TRAIN_SPEC": "{{ params | tojson }}",
        "KEPLER_TRAIN_INTERVAL": _INTERVAL,
        "KEPLER_TRAIN_NOW": "{{ dag_run.run_after.isoformat() }}",
    }
