"""The DAG in pods of a real cluster, through Airflow, to models in a bucket — with pods killed on the way."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Lab
from steps_cluster import Cluster

from kepler_train.local.airflow_api import AirflowApi
from kepler_train.local.ports import take_port
from kepler_train.publish.sums import SUMS
from kepler_train.runs.registry import STEPS
from kepler_train.runs.runner import run_step
from kepler_train.spec import RunSpec, read_spec
from kepler_train.workspace import Run, open_store

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

DAG = "train_rapl-sysfs_BPFOnly"


def test_the_image_has_no_airflow_no_root_and_no_file_that_it_can_change(cluster: Cluster) -> None:
    code, log = cluster.run(
        "python",
        "-c",
        "import importlib.metadata as m, importlib.util as u, os, sys, kepler_train\n"
        "[u.find_spec(f'kepler_train.{p}') and sys.exit(p) for p in ('local', 'simulate')]\n"
        "print(os.getuid(), kepler_train.__version__, *sorted(d.name for d in m.distributions()))\n"
        "[os.access(p, os.W_OK) and sys.exit(p) for p in ('/', '/etc', '/opt', kepler_train.__path__[0])]\n"
        "open('/tmp/works', 'w')",
    )
    assert code == 0, log
    user, _, *packages = log.split()
    assert int(user) > 0
    assert "xgboost-cpu" in packages
    assert not [name for name in packages if "airflow" in name]


def test_the_image_can_stress_the_node_without_any_rights(cluster: Cluster) -> None:
    loads = ["--load", "cpu", "--load", "cache", "--timeout", "1", "--idle", "0", "--break", "0", "--instances", "2"]
    code, log = cluster.run("kepler-train", "stress", *loads, "--frequency-sweep", "-o", "/tmp/stress")  # noqa: S108
    assert code == 0, log
    assert "The frequency sweep is left out" in log
    assert log.splitlines()[-1] == "Wrote /tmp/stress.json: 2 phases, 2 done."


@pytest.fixture(scope="module")
def runs(airflow: AirflowApi, lab: Lab) -> Iterator[dict[str, str]]:
    """Three runs side by side: one that can work, one of a window without data, one of a server that is not there."""
    airflow.wait_dag(DAG, seconds=120)
    airflow.unpause(DAG)
    with take_port(os.environ["CLUSTER_HOST_IP"]) as nobody:
        window = {"start": lab.start.isoformat(), "end": lab.end.isoformat()}
        yield {
            # All four models are to be published, however far they are off under a load that they have not seen.
            "good": airflow.trigger(DAG, {**window, "gate_limit": 1000}),
            "no data": airflow.trigger(DAG, {"start": "2020-01-01T00:00:00Z", "end": "2020-01-01T06:00:00Z"}),
            "no server": airflow.trigger(DAG, {**window, "prometheus": f"http://{nobody.host}:{nobody.number}"}),
        }


def test_killed_pods_are_tried_again_and_the_models_are_those_of_an_undisturbed_run(
    cluster: Cluster, airflow: AirflowApi, lab: Lab, runs: dict[str, str], tmp_path: Path
) -> None:
    run = runs["good"]
    cluster.delete_at_once(next(cluster.running(run, "extract")))
    killed = next(pod for pod in cluster.running(run, "train") if cluster.kill_inside(pod))

    assert airflow.wait_run(DAG, run, seconds=800) == "success"
    tries = {(task["task_id"], task["map_index"]): task["try_number"] for task in airflow.task_instances(DAG, run)}
    part = int(killed.metadata.labels["map_index"])
    assert tries["extract", 0] == 2
    assert tries["train", part] == 2
    assert "The step extract vanished before it was done" in airflow.task_log(DAG, run, "extract", map_index=0)
    assert "The step train was killed by signal 9" in airflow.task_log(DAG, run, "train", map_index=part)

    # Only the killed pod is kept; the task's log is what the step said, line by line, as with local processes.
    assert [pod.metadata.name for pod in cluster.pods(run)] == [killed.metadata.name]
    said = [line for line in airflow.task_log(DAG, run, "publish").splitlines() if "publish: " in line]
    assert [line.split(" ")[1] for line in said] == ["4", "promoted.", "latest", "the", "done"]

    version = json.loads(lab.read(f"work/models/{DAG}/latest.json"))["version"]
    published = lab.files(f"work/models/{DAG}/{version}/")
    archives = [content for name, content in published.items() if name.endswith(".zip")]
    assert len(archives) == 4  # two output types, two trainers
    assert all(zipfile.ZipFile(io.BytesIO(content)).testzip() is None for content in archives)
    spec = read_spec(json.loads(lab.read(f"work/runs/{DAG}/{run}/plan/spec.json")))
    quiet = made_here(tmp_path, f"{DAG}/{run}", spec, lab)
    assert sorted(published) == sorted(quiet)
    # The times of training are in the metadata of the pipeline, and hence in the sums.
    assert {name for name in published if published[name] != quiet[name]} <= {"metadata.json", SUMS}


def test_a_window_without_data_fails_at_once_with_one_sentence(
    cluster: Cluster, airflow: AirflowApi, runs: dict[str, str]
) -> None:
    run = runs["no data"]
    assert airflow.wait_run(DAG, run, seconds=300) == "failed"
    (failed,) = [task for task in airflow.task_instances(DAG, run) if task["state"] == "failed"]
    assert failed["try_number"] == 1
    (pod,) = cluster.pods(run)
    assert pod.status.container_statuses[0].state.terminated.exit_code == 3
    log = airflow.task_log(DAG, run, failed["task_id"])
    (sentence,) = [line for line in log.splitlines() if line.startswith("error: ")]
    assert "2020-01-01" in sentence
    assert "remote_pod" not in log


def test_a_prometheus_that_does_not_answer_is_tried_again(airflow: AirflowApi, runs: dict[str, str]) -> None:
    run = runs["no server"]
    deadline = time.monotonic() + 300
    while (plan := plan_of(airflow, run))["state"] != "up_for_retry" and plan["try_number"] == 1:
        assert plan["state"] != "failed"
        assert time.monotonic() < deadline, plan
        time.sleep(1)
    log = airflow.task_log(DAG, run, "plan")
    assert [line for line in log.splitlines() if line.startswith("error: Prometheus at")]


def plan_of(airflow: AirflowApi, run: str) -> dict[str, Any]:
    """The task that asks whether Prometheus answers, before anything else is done."""
    return next(task for task in airflow.task_instances(DAG, run) if task["task_id"] == "plan")


def made_here(folder: Path, name: str, spec: RunSpec, lab: Lab) -> dict[str, bytes]:
    """What a run without pods, Airflow, S3 and accidents publishes of the same window."""
    with pytest.MonkeyPatch.context() as environment:
        for variable, value in lab.s3.client_environment().items():  # the schedule is in the bucket
            environment.setenv(variable, value)
        run = Run.named(open_store(str(folder)), name)
        for step in STEPS.values():
            for part in step.parts(spec):
                run_step(step, STEPS, run, spec, part)
    (version,) = (path for path in (folder / "models" / DAG).iterdir() if path.is_dir() and not path.is_symlink())
    return {str(path.relative_to(version)): path.read_bytes() for path in version.rglob("*") if path.is_file()}
