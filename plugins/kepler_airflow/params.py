"""The trigger form: a preset, what nine of ten people need, and one parameter per field of the run's spec."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param

from kepler_airflow.dag_plans import DagPlan
from kepler_train.presets import NO_PRESET, PRESETS, with_preset
from kepler_train.spec import RunSpec, form_schema, form_values, read_spec

if TYPE_CHECKING:
    from airflow.sdk import DAG, Context

FIRST = ("nodes", "start", "end", "window_seconds", "stress")
"""Parameters that the form shows when it opens, after the preset; the others are in folded sections."""


def run_params(plan: DagPlan) -> dict[str, Param]:
    """Return the parameters of a DAG with the values that its form starts with."""
    values = form_values(plan.spec)
    params = {"preset": Param(NO_PRESET, source="dag", **_PRESET)}
    for name, schema in _schemas().items():
        required = name in plan.needs
        more = {"type": "array", "minItems": 1} if required else {}
        params[name] = Param(None if required else values[name], source="dag", **{**schema, **more})
    return params


def run_parameters(params: Mapping[str, Any], dag: DAG) -> dict[str, Any]:
    """Return the parameters of a run: as they were given, else of its preset, else the DAG's own."""
    return with_preset(params, dag.params.dump())


def spec_of(context: Context) -> RunSpec:
    """Return the spec of the run that a task belongs to, before its window is settled."""
    return read_spec(run_parameters(context["params"], context["dag"]))


_PRESET = {
    "enum": list(PRESETS),
    "title": "Preset",
    "description": "What to train and how to load the machine, under one name. A value that you change yourself wins.",
}


@cache
def _schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of every parameter, those that are shown first without a section."""
    schemas = {
        name: {key: value for key, value in schema.items() if key != "default"}
        for name, schema in form_schema().items()
    }
    first = {name: {key: value for key, value in schemas[name].items() if key != "section"} for name in FIRST}
    return {**first, **{name: schema for name, schema in schemas.items() if name not in first}}
