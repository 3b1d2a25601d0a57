"""The trigger form: one parameter per field of the run's spec."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from airflow.sdk import Param

from kepler_airflow.dag_plans import DagPlan
from kepler_train.spec import form_schema, form_values


def run_params(plan: DagPlan) -> dict[str, Param]:
    """Return the parameters of a DAG with the values that its form starts with."""
    values = form_values(plan.spec)
    params = {}
    for name, schema in _schemas().items():
        if name in plan.needs:
            schema = {**schema, "type": "array", "minItems": 1}
        params[name] = Param(None if name in plan.needs else values[name], source="dag", **schema)
    return params


@cache
def _schemas() -> dict[str, dict[str, Any]]:
    return {
        name: {key: value for key, value in schema.items() if key != "default"}
        for name, schema in copy.deepcopy(form_schema()).items()
    }
