"""Which training DAGs an installation has: one per wanted pair, and those that its settings file describes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from kepler_airflow.settings import Settings
from kepler_train.catalog import catalog
from kepler_train.errors import UserError
from kepler_train.spec import RunSpec, read_spec, set_values

_NAME = r"[A-Za-z0-9_.-]+"
"""What Airflow allows in the name of a DAG."""


@dataclass(frozen=True)
class DagPlan:
    """A training DAG: when it runs by itself (empty: never), and the values that its form starts with.

    A DAG that `needs` parameters has no useful value for them: whoever triggers it must name one.
    """

    dag_id: str
    schedule: str
    spec: RunSpec
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class UnusablePlan:
    """A DAG that cannot be made, and the sentence that says why."""

    dag_id: str
    problem: str


def dag_id_of(source: str, group: str) -> str:
    """Return the name of the DAG of a pair, and of the pipeline that its models are published under."""
    return f"train_{source}_{group}"


def dag_plans(settings: Settings, only: str | None = None) -> Iterator[DagPlan | UnusablePlan]:
    """Yield the DAGs of an installation; a wrong one is yielded with its problem and harms no other."""
    wanted = _wanted(settings)
    for dag_id, pairs in wanted.items():
        if only in (None, dag_id):
            try:
                yield _plan(dag_id, pairs, settings)
            except UserError as error:
                yield UnusablePlan(dag_id, str(error))


def _wanted(settings: Settings) -> dict[str, list[str]]:
    """Return the pairs of every DAG, by its name."""
    wanted = {_safe(dag_id_of(*_halves(pair))): [pair] for pair in _all_of(settings.pairs)}
    for dag_id, entry in settings.file.dags.items():
        if entry.pairs is not None or dag_id not in wanted:
            wanted[dag_id] = entry.pairs or []
    return wanted


def _plan(dag_id: str, pairs: list[str], settings: Settings) -> DagPlan:
    entry = settings.file.dags.get(dag_id)
    where = f"{settings.file_name}: dags.{dag_id}" if entry else f"The DAG {dag_id}"
    if not pairs:
        raise UserError(f"{where}: there is no such pair among {', '.join(settings.pairs)}: give the DAG pairs.")
    sources, groups = _sources_and_groups(pairs, where)
    asked = read_spec({**settings.defaults, **(entry.run_defaults() if entry else {})}, where)
    fitting = [
        kind for kind in asked.output_types if all(kind in catalog().group(name).output_types for name in groups)
    ]
    if not fitting:
        raise UserError(f"{where}: {', '.join(groups)} have none of the output types {', '.join(asked.output_types)}.")
    own = {"pipeline": dag_id, "energy_sources": sources, "feature_groups": groups, "output_types": fitting}
    needs_metrics = any(catalog().group(name).third_party == "required" for name in groups)
    if needs_metrics and not asked.thirdparty_metrics:
        # Nobody can guess them: the form asks for them, and nothing is started without.
        return DagPlan(dag_id, "", asked.model_copy(update=own), frozenset({"thirdparty_metrics"}))
    schedule = settings.schedule
    if entry and "schedule" in entry.model_fields_set:
        schedule = entry.schedule or ""
    _check_schedule(schedule, where)
    return DagPlan(dag_id, schedule, read_spec({**set_values(asked), **own}, where))


def _sources_and_groups(pairs: list[str], where: str) -> tuple[list[str], list[str]]:
    """Return the energy sources and feature groups of a DAG, which trains each group on each source."""
    halves = [_halves(pair) for pair in _all_of(pairs)]
    sources, groups = (list(dict.fromkeys(names)) for names in zip(*halves, strict=True))
    for name in sources:
        catalog().source(name)
    for name in groups:
        catalog().group(name)
    missing = [f"{source}/{group}" for source in sources for group in groups if (source, group) not in halves]
    if missing:
        raise UserError(f"{where}: a DAG trains every group on every source, and {', '.join(missing)} is missing.")
    return sources, groups


def _all_of(pairs: list[str]) -> list[str]:
    """Return pairs with * replaced by every energy source, or by every feature group that needs nothing more."""
    usual = [name for name, group in catalog().feature_groups.items() if group.third_party != "required"]
    every: list[str] = []
    for pair in pairs:
        source, group = _halves(pair)
        sources = list(catalog().energy_sources) if source == "*" else [source]
        groups = usual if group == "*" else [group]
        every += [f"{one}/{other}" for one in sources for other in groups]
    return list(dict.fromkeys(every))


def _halves(pair: str) -> tuple[str, str]:
    source, _, group = pair.partition("/")
    return source.strip(), group.strip()


def _safe(dag_id: str) -> str:
    """Return a name that Airflow takes, for a pair that cannot be one."""
    return dag_id if re.fullmatch(_NAME, dag_id) else re.sub(r"[^A-Za-z0-9_.-]", "_", dag_id)


@cache
def _check_schedule(schedule: str, where: str) -> None:
    from airflow.sdk.exceptions import AirflowTimetableInvalid
    from airflow.timetables.interval import CronDataIntervalTimetable

    if not schedule:
        return
    try:
        CronDataIntervalTimetable(schedule, timezone="UTC").validate()
    except (AirflowTimetableInvalid, ValueError, KeyError):
        raise UserError(
            f"{where}: the schedule {schedule!r} is not a cron expression: write it as '0 2 * * *', or leave it empty."
        ) from None
