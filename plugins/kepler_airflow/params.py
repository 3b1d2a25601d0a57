"""The trigger form: one parameter per field of the run's spec."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Param

from kepler_airflow.settings import settings
from kepler_train.spec import form_schema, form_values, read_spec


def run_params(**fixed: Any) -> dict[str, Param]:
    """Return the parameters of a DAG: the spec's own defaults, then the installation's, then what this DAG fixes."""
    # Read through the spec, so that a wrong default is a sentence in the import errors and not a failing run.
    ours = read_spec(settings().defaults, "KEPLER_TRAIN_DEFAULTS").model_dump(mode="json", exclude_unset=True)
    chosen = form_values(read_spec({**ours, **fixed}, "The defaults of the DAG"))
    return {
        name: Param(chosen[name], **{key: value for key, value in schema.items() if key != "default"})
        for name, schema in form_schema().items()
    }
