"""The stress step as a task: only when it is asked for, and as a pod on the node that is measured."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from kepler_airflow.params import RunParameters
from kepler_airflow.settings import settings

TEMPLATE = Path(__file__).resolve().parents[2] / "docker/step/pod.yaml"
HOSTNAME = "kubernetes.io/hostname"


@pytest.fixture
def pod_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The spec of the pod that Kubernetes is asked for."""
    monkeypatch.setenv("KEPLER_TRAIN_WORKSPACE", "s3://bucket/kepler")
    monkeypatch.delenv("KEPLER_TRAIN_POD_TEMPLATE", raising=False)
    settings.cache_clear()

    def build(step: str, **params: Any) -> Any:
        from kepler_airflow.pods import PodStep

        ti = SimpleNamespace(dag_id="d", task_id=step, map_index=-1, try_number=1)
        dag = SimpleNamespace(user_defined_macros={"run_parameters": RunParameters({})})
        context: Any = {"ti": ti, "run_id": "r", "dag": dag, "params": params}
        return PodStep(task_id=step, step=step).build_pod_request_obj(context, dry_run=True).spec

    yield build
    settings.cache_clear()


def test_the_load_is_on_the_named_node_and_has_all_its_cpus(pod_of: Callable[..., Any]):
    stress, query = (pod_of(step, nodes=["worker-3"]) for step in ("stress", "query"))
    assert stress.node_selector == {HOSTNAME: "worker-3"}
    assert stress.containers[0].resources.limits == {"memory": "2Gi"}
    assert not query.node_selector
    assert query.containers[0].resources.limits == {"cpu": "2", "memory": "2Gi"}
    assert not pod_of("stress", nodes=[]).node_selector


def test_a_template_of_its_own_decides_about_the_load_alone(
    pod_of: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    template = yaml.safe_load(TEMPLATE.read_text())
    template["spec"]["nodeSelector"] = {HOSTNAME: "ip-10-0-0-7"}
    template["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "8"}
    template["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    (tmp_path / "stress.yaml").write_text(yaml.safe_dump(template))
    monkeypatch.setenv("KEPLER_TRAIN_STRESS_POD_TEMPLATE", str(tmp_path / "stress.yaml"))
    settings.cache_clear()
    stress, query = (pod_of(step, nodes=["10.0.0.7:9102"]) for step in ("stress", "query"))
    assert stress.node_selector == {HOSTNAME: "ip-10-0-0-7"}
    assert stress.containers[0].resources.limits == {"cpu": "8"}
    assert stress.containers[0].security_context.privileged is True
    assert query.containers[0].security_context.privileged is None
