"""Airflow makes its home when it is imported: not in the home of whoever runs the tests."""

import os
import tempfile
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="kepler-train-airflow-"))


@pytest.fixture
def pod_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The spec of the pod that Kubernetes is asked for."""
    monkeypatch.setenv("KEPLER_TRAIN_WORKSPACE", "s3://bucket/kepler")
    monkeypatch.delenv("KEPLER_TRAIN_POD_TEMPLATE", raising=False)
    from kepler_airflow.settings import settings

    settings.cache_clear()

    def build(step: str, **params: Any) -> Any:
        from kepler_airflow.params import RunParameters
        from kepler_airflow.pods import PodStep

        ti = SimpleNamespace(dag_id="d", task_id=step, map_index=-1, try_number=1)
        dag = SimpleNamespace(user_defined_macros={"run_parameters": RunParameters({})})
        context: Any = {"ti": ti, "run_id": "r", "dag": dag, "params": params}
        return PodStep(task_id=step, step=step).build_pod_request_obj(context, dry_run=True).spec

    yield build
    settings.cache_clear()
