"""What only a pod can suffer, seen by the operator alone: each ends in one sentence and the right kind of failure."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from steps_cluster import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


class TaskState(dict[str, Any]):
    """What Airflow keeps of a task between its tries."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


@pytest.fixture
def operator(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The class PodStep, with the rights of a worker."""
    values = {
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW_CONN_KUBERNETES_DEFAULT": "kubernetes://",
        "KUBECONFIG": str(cluster.worker_access(tmp_path / "worker.kubeconfig")),
        "KEPLER_TRAIN_WORKSPACE": "/tmp/work",  # noqa: S108  # in the pod
        "KEPLER_TRAIN_NAMESPACE": cluster.namespace,
        "KEPLER_TRAIN_IMAGE": cluster.image,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    from kepler_airflow.pods import PodStep
    from kepler_airflow.settings import settings

    settings.cache_clear()
    yield PodStep
    settings.cache_clear()


def task(name: str, state: TaskState | None = None) -> Any:
    """The context of a try of a task."""
    from kepler_airflow.params import RunParameters

    ti = SimpleNamespace(dag_id="d", task_id=name, map_index=-1, try_number=1, xcom_push=lambda **_: None)
    dag = SimpleNamespace(user_defined_macros={"run_parameters": RunParameters({})})
    return {"ti": ti, "run_id": "r", "dag": dag, "params": {}, "task_state_store": state}


def test_a_retry_takes_the_pod_that_a_lost_worker_left_running_but_never_one_that_failed(
    operator: Any, cluster: Cluster
) -> None:
    def taken_by_a_worker(program: str) -> str:
        step = operator(task_id="plan", step="plan", cmds=["sh", "-c", program])
        pod = step.get_or_create_pod(step.build_pod_request_obj(context), context)
        return str(pod.metadata.name)

    context = task("plan", TaskState())
    first = taken_by_a_worker("sleep 5; exit 75")
    assert taken_by_a_worker("sleep 60") == first
    while cluster.api.read_namespaced_pod_status(first, cluster.namespace).status.phase != "Failed":
        time.sleep(0.2)
    second = taken_by_a_worker("sleep 60")
    assert second != first
    assert taken_by_a_worker("sleep 60") == second
    cluster.api.delete_namespaced_pod(second, cluster.namespace)


@pytest.mark.parametrize(
    ("accident", "options", "retried", "sentence"),
    [
        ("no image", {"image": "kepler-train-none:1"}, True, "ErrImagePull"),
        ("no program", {"cmds": ["/none"]}, False, "cannot run a step"),
        ("no memory", {"cmds": ["python", "-c", "x = bytearray(2**33)"]}, True, "needs more memory"),
        ("no right", {"namespace": "default"}, False, "Kubernetes refused the pod"),
        ("exit code 2", {"cmds": ["sh", "-c", "echo error: Choose another. >&2; exit 2"]}, False, "^Choose another.$"),
        ("exit code 75", {"cmds": ["sh", "-c", "echo error: Not now. >&2; exit 75"]}, True, "^Not now.$"),
        ("exit code 1", {"cmds": ["sh", "-c", "exit 1"]}, False, "a bug"),
        ("deleted", {"cmds": ["sh", "-c", "kill -TERM $$"]}, True, "killed by signal 15"),
    ],
)
def test_an_accident_is_one_sentence(
    operator: Any, accident: str, options: dict[str, Any], retried: bool, sentence: str
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    step = operator(task_id=accident.replace(" ", "-"), step="plan")
    for name, value in options.items():
        setattr(step, name, value)
    with pytest.raises(AirflowException, match=sentence) as raised:
        step.execute(task(step.task_id))
    assert isinstance(raised.value, AirflowFailException) is not retried
    assert raised.value.__cause__ is None
    assert len(str(raised.value).splitlines()) == 1


def test_dollars_reach_the_step_as_they_are(operator: Any, cluster: Cluster) -> None:
    step = operator(task_id="dollars", step="plan", cmds=["sh", "-c", "test \"$KEPLER_TRAIN_SPEC\" = '$$(HOME) $x'"])
    step.env_vars = {"KEPLER_TRAIN_SPEC": "$$(HOME) $x", "HOME": "/tmp"}  # noqa: S108
    step.execute(task("dollars"))
