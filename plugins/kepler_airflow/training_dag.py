"""What every training DAG has in common."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.sdk import DAG, CronDataIntervalTimetable, get_parsing_context

from kepler_airflow.params import run_params
from kepler_airflow.retries import RETRIES
from kepler_airflow.settings import settings


def dag_id(source: str, group: str) -> str:
    """Return the name of the DAG, and of the pipeline that its models are published under."""
    return f"train_{source}_{group}"


def wanted_pairs() -> list[tuple[str, str]]:
    """Return energy sources and feature groups to make DAGs for; a task process makes only its own DAG."""
    own = get_parsing_context().dag_id
    return [pair for pair in settings().pairs if own in (None, dag_id(*pair))]


def training_dag(source: str, group: str, doc_md: str | None) -> DAG:
    """Return a paused DAG whose nightly run and backfill are the same thing: a window of Prometheus history."""
    name = dag_id(source, group)
    return DAG(
        name,
        description=f"Power models for Kepler from {source}, features {group}",
        doc_md=doc_md,
        schedule=CronDataIntervalTimetable(settings().schedule, timezone="UTC"),
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        is_paused_upon_creation=True,
        max_active_runs=4,
        default_args=RETRIES,
        params=run_params(pipeline=name, energy_sources=[source], feature_groups=[group]),
        tags=["kepler", "train", source, group],
    )
