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
    from airflow.sdk import Context

MACRO = "run_parameters"
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


class RunParameters:
    """The parameters of a DAG's runs, as templates read them: `run_parameters(params)`.

    It knows the values that the form starts with: in a task, Airflow has replaced those of the DAG by the run's own.
    """

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = dict(defaults)

    def __call__(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a run: as somebody chose them, else of its preset, else the DAG's own."""
        return with_preset(params, self._defaults)

    def chosen(self, params: Mapping[str, Any], name: str) -> bool:
        """Return whether somebody chose another value of a parameter than the one that the form starts with."""
        return bool(params[name] != self._defaults[name])


def macros(plan: DagPlan) -> dict[str, Any]:
    """Return what templates of a DAG may call."""
    return {MACRO: RunParameters(form_values(plan.spec))}


def spec_of(context: Context) -> RunSpec:
    """Return the spec of the run that a task belongs to, before its window is settled."""
    run_parameters = (context["dag"].user_defined_macros or {})[MACRO]
    return read_spec(run_parameters(context["params"]))


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
