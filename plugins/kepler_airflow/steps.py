"""The one factory of step tasks: the runtime is chosen here, and DAG files do not know it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import task
from airflow.sdk.exceptions import AirflowSkipException, DownstreamTasksSkipped

from kepler_airflow.params import spec_of
from kepler_airflow.pools import pool_of
from kepler_airflow.settings import settings

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator, Context, XComArg
    from airflow.sdk.definitions.mappedoperator import MappedOperator

_log = logging.getLogger("airflow.task")


def step(name: str, **options: Any) -> BaseOperator:
    """Return a task that does a step of the run."""
    return _operator()(task_id=name, step=name, **pool_of(name, settings().runtime), **options)


def step_in_parts(name: str, parts: XComArg, **options: Any) -> MappedOperator:
    """Return tasks that do a step in parts, one for each part that a task upstream names."""
    return (
        _operator()
        .partial(
            task_id=name,
            step=name,
            map_index_template="{{ task.part or 'whole' }}",
            **pool_of(name, settings().runtime),
            **options,
        )
        .expand(part=parts)
    )


def stress_when_asked() -> BaseOperator:
    """Return the stress step, which is skipped in a run without `stress`, also when somebody clears it.

    Runs have it one after the other, and local steps of other runs wait for its end: what else works is measured too.
    """
    return step("stress", pre_execute=_skip_unless_stress)


def plan() -> BaseOperator:
    """Return the plan step; in a run without `stress` it skips the stress step, which then waits for no machine."""
    return step("plan", post_execute=_skip_stress_unless_asked)


def _skip_stress_unless_asked(context: Context, _: Any) -> None:
    if not spec_of(context).stress:
        raise DownstreamTasksSkipped(tasks=["stress"])


def _skip_unless_stress(context: Context) -> None:
    if not context["params"]["stress"]:
        _log.info("This run does not stress the machine: its parameter stress is off.")
        raise AirflowSkipException


def nodes() -> XComArg:
    """Return a task that names the parts of the extract step."""
    return cast("XComArg", _nodes.override(task_id="nodes", **pool_of("nodes", settings().runtime))())


def models() -> XComArg:
    """Return a task that names the parts of the train step."""
    return cast("XComArg", _models.override(task_id="models", **pool_of("models", settings().runtime))())


@task
def _nodes(**context: Any) -> list[str]:
    """The nodes that the run's parameters name: one extract task each, and one where they name none."""
    from kepler_train.parts import nodes_of

    return nodes_of(spec_of(cast("Context", context)))


@task
def _models(**context: Any) -> list[str]:
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
