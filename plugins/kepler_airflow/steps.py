"""The one factory of step tasks: the runtime is chosen here, and DAG files do not know it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import task
from airflow.sdk.exceptions import AirflowSkipException

from kepler_airflow.params import spec_of
from kepler_airflow.settings import settings

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator, Context, XComArg
    from airflow.sdk.definitions.mappedoperator import MappedOperator

_log = logging.getLogger("airflow.task")


def step(name: str, **options: Any) -> BaseOperator:
    """Return a task that does a step of the run."""
    return _operator()(task_id=name, step=name, **options)


def step_in_parts(name: str, parts: XComArg, **options: Any) -> MappedOperator:
    """Return tasks that do a step in parts, one for each part that a task upstream names."""
    return (
        _operator()
        .partial(task_id=name, step=name, map_index_template="{{ task.part or 'whole' }}", **options)
        .expand(part=parts)
    )


def stress_when_asked() -> BaseOperator:
    """Return the stress step; it is skipped, before anything is started, in a run without `stress`.

    Runs of a DAG have it one after the other: two loads at once measure neither.
    """
    return step("stress", pre_execute=_skip_unless_stress, max_active_tis_per_dag=1)


def _skip_unless_stress(context: Context) -> None:
    if not context["params"]["stress"]:
        _log.info("This run does not stress the machine: its parameter stress is off.")
        raise AirflowSkipException


@task
def nodes(**context: Any) -> list[str]:
    """The nodes that the run's parameters name: one extract task each, and one where they name none."""
    from kepler_train.parts import nodes_of

    return nodes_of(spec_of(cast("Context", context)))


@task
def models(**context: Any) -> list[str]:
    """The models that the run's parameters ask for: one train task each."""
    from kepler_train.parts import model_parts

    return model_parts(spec_of(cast("Context", context)))


def _operator() -> type[Any]:
    if settings().runtime == "pods":
        # Imported here only: the Kubernetes client costs every task process seconds that local steps do not need.
        from kepler_airflow.pods import PodStep

        return PodStep
    from kepler_airflow.local import LocalStep

    return LocalStep
