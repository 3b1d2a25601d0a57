"""A Kubernetes Job as a load, with a kubectl that does what a test tells it; tests/cluster has the real one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_sysfs import make_sysfs
from waiting import eventually

from kepler_train.stress import job

RUNNING = '{"active":1,"ready":1}'
COMPLETE = '{"conditions":[{"type":"Complete","status":"True"}],"ready":0,"succeeded":1}'
FAILED = '{"conditions":[{"type":"Failed","status":"True","message":"Job has reached the specified backoff limit"}]}'
KUBECTL = """#!/bin/sh
cd "$FAKE"
echo "$*" >> calls
case "$1 $*" in
  create*dry-run*) cat job.json ;;
  create*) cat > created.json; cat refuse >&2 2>/dev/null && exit 1; exit 0 ;;
  get*) cat statuses; test -e ended && rm ended && exit 0; exec sleep 300 ;;
  delete*) ;;
esac
"""


class Cluster:
    """What the fake kubectl knows and was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "kubectl").write_text(KUBECTL)
        (folder / "kubectl").chmod(0o755)
        self.holds({"kind": "Job", "metadata": {"name": "pi", "namespace": "lab"}, "spec": {}})
        self.environment = {**os.environ, "FAKE": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}

    def holds(self, content: Any) -> None:
        (self.folder / "job.json").write_text(json.dumps(content))

    def tells(self, *statuses: str) -> None:
        (self.folder / "statuses").write_text("".join(f"{status}\n" for status in statuses))

    def run(self, seconds: float = 1) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", job.__file__, "pi.yaml", str(seconds)]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=30)

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()

    @property
    def created(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "created.json").read_text())
        return content

    def removed(self) -> bool:
        name = self.created["metadata"]["name"]
        asked = [f"delete job {name} -n lab --ignore-not-found", f"delete pods -l job-name={name} -n lab"]
        return [call.startswith(start) for call, start in zip(self.calls[-2:], asked, strict=True)] == [True, True]


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_a_job_is_over_when_it_is_complete_and_is_removed_with_its_pods(cluster: Cluster):
    cluster.tells("", '{"active":1,"ready":0}', RUNNING, COMPLETE)
    done = cluster.run(seconds=60)
    assert (done.returncode, done.stderr) == (0, "")
    times = json.loads(done.stdout)
    assert times["ended"] - times["started"] == pytest.approx(times["elapsed"], abs=0.1)
    assert times["elapsed"] < 30
    assert cluster.created["metadata"]["name"].startswith("pi-")  # no other Job has this name
    assert cluster.created["spec"]["activeDeadlineSeconds"] == 300 + 60 + 60
    assert cluster.removed()


def test_a_job_that_goes_on_is_a_load_for_its_time_and_then_removed(cluster: Cluster):
    cluster.tells(RUNNING)
    done = cluster.run(seconds=0.5)
    assert done.returncode == 0
    assert 0.5 <= json.loads(done.stdout)["elapsed"] < 10
    assert cluster.removed()


def test_a_watch_that_the_server_ends_is_begun_again(cluster: Cluster):
    cluster.tells(RUNNING)
    (cluster.folder / "ended").touch()
    done = cluster.run(seconds=2)
    assert done.returncode == 0
    assert sum(call.startswith("get job") for call in cluster.calls) == 2
    assert 2 <= json.loads(done.stdout)["elapsed"] < 10  # from when the first watch said so


def test_a_job_that_fails_says_why_and_is_removed(cluster: Cluster):
    cluster.tells(RUNNING, FAILED)
    done = cluster.run(seconds=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "The Job failed: Job has reached the specified backoff limit.\n"
    assert cluster.removed()


def test_a_job_that_the_cluster_refuses_says_why(cluster: Cluster):
    (cluster.folder / "refuse").write_text("error: You must be logged in to the server (Unauthorized)\n")
    done = cluster.run()
    assert (done.returncode, done.stderr) == (
        1,
        "kubectl create: error: You must be logged in to the server (Unauthorized).\n",
    )


@pytest.mark.parametrize("content", [{"kind": "List", "items": []}, {"kind": "Pod", "metadata": {}}, [], "Job"])
def test_a_file_without_a_job_creates_nothing(cluster: Cluster, content: Any):
    cluster.holds(content)
    done = cluster.run()
    assert (done.returncode, done.stderr) == (1, "pi.yaml does not hold one Kubernetes Job.\n")
    assert len(cluster.calls) == 1


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=["SIGTERM", "SIGKILL"])
def test_the_job_is_removed_also_when_the_run_is_stopped_or_killed(cluster: Cluster, stop: int, code: int):
    cluster.tells(RUNNING)
    (cluster.folder / "pi.yaml").touch()
    command = [sys.executable, "-m", "kepler_train", "stress", "--job", "pi.yaml", "--idle", "0", "--timeout", "60"]
    sysfs = make_sysfs(cluster.folder / "sys", [])
    with subprocess.Popen(
        [*command, "--sysfs", sysfs], cwd=cluster.folder, env=cluster.environment, stdout=subprocess.DEVNULL
    ) as run:
        assert eventually(lambda: any(call.startswith("get job") for call in cluster.calls))
        run.send_signal(stop)
        assert run.wait(30) == code
    assert eventually(cluster.removed), cluster.calls
    if stop == signal.SIGTERM:
        [phase] = json.loads((cluster.folder / "stress.json").read_text())["phases"]
        assert (phase["load"], phase["status"]) == ("pi", "stopped")


def test_a_job_is_a_phase_with_the_times_of_its_pods(cluster: Cluster):
    cluster.tells(RUNNING, COMPLETE)
    (cluster.folder / "pi.yaml").touch()
    command = [sys.executable, "-m", "kepler_train", "stress", "--job", "digits=pi.yaml", "--idle", "0"]
    sysfs = make_sysfs(cluster.folder / "sys", [])
    subprocess.run(
        [*command, "--sysfs", sysfs], cwd=cluster.folder, env=cluster.environment, stdout=subprocess.DEVNULL, check=True
    )
    [phase] = json.loads((cluster.folder / "stress.json").read_text())["phases"]
    assert (phase["load"], phase["instances"], phase["status"], phase["exit_code"]) == ("digits", 1, "done", 0)
    assert phase["command"] == ["kubectl", "create", "-f", "pi.yaml"]
