"""`kepler-train stress --job` with the real kubectl: a Job is a phase as long as its pods run, and gone afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from steps_cluster import Cluster

_POD = Path(__file__).resolve().parents[2] / "docker" / "step" / "pod.yaml"

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]


def write_job(file: Path, cluster: Cluster, program: str) -> None:
    """A Job whose pod is like a step's, but for its program, which does not heed SIGTERM."""
    pod = yaml.safe_load(_POD.read_text())
    pod["spec"]["containers"][0] |= {"image": cluster.image, "command": ["sh", "-c", f"trap '' TERM; {program}"]}
    template = {"spec": {**pod["spec"], "restartPolicy": "Never"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": file.stem, "namespace": cluster.namespace},
        "spec": {"backoffLimit": 0, "template": template},
    }
    file.write_text(yaml.safe_dump(job))


def test_a_job_is_a_phase_as_long_as_it_runs_and_then_gone(cluster: Cluster, tmp_path: Path):
    assert cluster.run("true")[0] == 0  # skips without the image
    for name, program in {"ends": "sleep 4", "goes-on": "sleep 600", "fails": "exit 3"}.items():
        write_job(tmp_path / f"{name}.yaml", cluster, program)
    (tmp_path / "sys" / "devices" / "system" / "cpu").mkdir(parents=True)
    jobs = [part for name in ("ends", "goes-on", "fails") for part in ("--job", f"{name}.yaml")]
    options = [*jobs, "--timeout", "8", "--idle", "0", "--break", "0", "--sysfs", "sys"]
    environment = {**os.environ, "KUBECONFIG": cluster.access}
    command = [sys.executable, "-m", "kepler_train", "stress", *options]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    phases: list[dict[str, Any]] = json.loads((tmp_path / "stress.json").read_text())["phases"]
    assert [(phase["load"], phase["status"]) for phase in phases] == [
        ("ends", "done"),
        ("goes-on", "done"),
        ("fails", "failed"),
    ]
    assert "backoff limit" in phases[2]["reason"]
    lengths = [
        (datetime.fromisoformat(phase["end"]) - datetime.fromisoformat(phase["start"])).total_seconds()
        for phase in phases
    ]
    assert 2 < lengths[0] < 7  # 4 s, less a little: that the pod runs is known a moment later
    assert 8 <= lengths[1] < 9
    left = cluster.api.list_namespaced_pod(cluster.namespace, label_selector="job-name").items
    assert [pod.metadata.name for pod in left] == []
