"""What every training DAG has in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from airflow.sdk import DAG, get_parsing_context, task
from airflow.sdk.exceptions import AirflowFailException

from kepler_airflow.dag_plans import DagPlan, UnusablePlan, dag_plans
from kepler_airflow.params import macros, run_params
from kepler_airflow.retries import RETRIES
from kepler_airflow.settings import settings
from kepler_airflow.window_timetable import WindowTimetable


def wanted_dags() -> Iterator[DagPlan]:
    """Yield the DAGs to make; a task process makes only its own. One that cannot be made says so in its place."""
    for plan in dag_plans(settings(), only=get_parsing_context().dag_id):
        if isinstance(plan, UnusablePlan):
            _dag_that_says_why(plan)
        else:
            yield plan


@contextmanager
def training_dag(plan: DagPlan, doc_md: str | None) -> Iterator[DAG]:
    """Wire a paused DAG whose nightly run and backfill are the same thing: a window of Prometheus history."""
    sources, groups = ", ".join(plan.spec.energy_sources), ", ".join(plan.spec.feature_groups)
    with DAG(
        plan.dag_id,
        description=f"Power models for Kepler from {sources}, features {groups}",
        doc_md=doc_md,
        schedule=WindowTimetable(plan.schedule, timezone="UTC") if plan.schedule else None,
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        is_paused_upon_creation=True,
        max_active_runs=4,
        default_args=RETRIES,
        user_defined_macros=macros(plan),
        tags=["kepler", "train", *plan.spec.energy_sources, *plan.spec.feature_groups],
    ) as dag:
        yield dag
    # Last: a task copies the parameters that its DAG has when it is made, and each copy is serialized and stored.
    dag.params = run_params(plan)


def _dag_that_says_why(plan: UnusablePlan) -> None:
    """Make a DAG that fails with the sentence: an import error would take all other DAGs of the file along."""
    with DAG(
        plan.dag_id,
        description=plan.problem,
        doc_md=f"### This DAG cannot be used\n\n{plan.problem}",
        schedule=None,
        tags=["kepler", "cannot be used"],
    ):

        @task(retries=0)
        def settings_are_wrong() -> None:
            raise AirflowFailException(plan.problem)

        settings_are_wrong()
