"""The whole stack on this machine: found, killed in all its parts, and gone after `down`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from stack_processes import processes

from kepler_train.errors import UserError
from kepler_train.local.airflow_api import AirflowApi
from kepler_train.local.process import STACK_MARK, ProcessIdentity, marked
from kepler_train.local.stack import RunningStack, Stack, find

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

DAGS = '''
import os, pathlib, time
from airflow.sdk import dag, task

@dag(schedule=None)
def tiny():
    @task
    def hello():
        print("hello from a task")
    hello()

@dag(schedule=None, params={"seconds": 1, "out": ""}, max_active_runs=8)
def counting():
    """Counts in a process of its own, as a step does; the answer appears in one move at the end."""
    @task(retries=2, retry_delay=3)
    def count(params=None):
        import subprocess, sys
        code = """
import os, sys, time
out, seconds = sys.argv[1], int(sys.argv[2])
open(f"{out}.pids", "a").write(f"{os.getpid()} {os.getppid()}\\\\n")
for _ in range(seconds):
    time.sleep(1)
open(out + ".draft", "w").write(str(sum(range(seconds + 1))))
os.rename(out + ".draft", out)
"""
        subprocess.run([sys.executable, "-c", code, params["out"], str(params["seconds"])], check=True)
    count()

tiny(), counting()
'''


@pytest.fixture(scope="module")
def environment(shared_home: Path) -> Iterator[dict[str, str]]:
    (shared_home / "dags").mkdir()
    (shared_home / "dags" / "examples.py").write_text(DAGS)
    chosen = {
        "KEPLER_TRAIN_DAGS": str(shared_home / "dags"),
        "KEPLER_TRAIN_HOME": str(shared_home / "stack"),
        # The same rules as for users, with shorter patience.
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "15",
        "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in chosen.items():
            patch.setenv(name, value)
        yield chosen


@pytest.fixture(scope="module")
def stack(environment: dict[str, str]) -> Iterator[RunningStack]:
    with Stack().running() as up:
        for dag in ("tiny", "counting"):
            up.api.wait_dag(dag)
            up.api.unpause(dag)
        yield up


@pytest.fixture
def api(stack: RunningStack) -> AirflowApi:
    return stack.api


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    main = [sys.executable, "-c", "from kepler_train.cli import main; main()", "local"]
    return subprocess.run([*main, *arguments], capture_output=True, text=True, timeout=200)


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)
    return found


def start_counting(api: AirflowApi, out: Path, seconds: int) -> tuple[str, int, int]:
    """A run whose step is at work: its id, the step's process and the task's."""
    run = api.trigger("counting", {"seconds": seconds, "out": str(out)})
    pids = out.with_name(f"{out.name}.pids")
    step, task = until(lambda: pids.exists() and pids.read_text().split()[:2])
    return run, int(step), int(task)


def tries(api: AirflowApi, run: str) -> list[int]:
    return [task["try_number"] for task in api.task_instances("counting", run)]


def test_a_run_succeeds_and_its_words_are_in_the_log(api: AirflowApi):
    run = api.trigger("tiny")
    assert api.wait_run("tiny", run, 60) == "success"
    assert "hello from a task" in api.task_log("tiny", run, "hello")
    assert api.import_errors() == {}


def test_status_shows_every_service_and_a_second_up_finds_the_first(stack: RunningStack):
    status = command("status")
    assert status.returncode == 0
    for service in ("postgres", "api-server", "scheduler", "triggerer", "dag-processor"):
        assert f"{service} " in status.stdout
    assert stack.airflow_url in status.stdout
    login = command("login")
    assert (login.returncode, stack.airflow_url in login.stdout) == (0, True)
    before = stack.state.supervisor
    again = command("up")
    assert again.returncode == 0, again.stderr
    assert "already up" in again.stdout
    assert stack.airflow_url in again.stdout
    assert stack.state.supervisor == before
    for shown in (status, login, again):
        assert f"Login: user admin, password in {stack.login.file}" in shown.stdout
        assert stack.login.password not in shown.stdout, "what is not a terminal may be a log"


def test_kill_9_of_steps_tasks_workers_and_postgres_ends_in_right_results(
    stack: RunningStack, api: AirflowApi, tmp_path: Path
):
    spared, *_ = start_counting(api, tmp_path / "spared", 20)
    step_killed, step, _ = start_counting(api, tmp_path / "step", 3)
    os.kill(step, signal.SIGKILL)
    task_killed, orphaned_step, task = start_counting(api, tmp_path / "task", 4)
    os.kill(task, signal.SIGKILL)
    orphans = [ProcessIdentity.of(orphaned_step)]
    worker_killed, step, task = start_counting(api, tmp_path / "worker", 15)
    worker = int(Path(f"/proc/{task}/stat").read_text().rpartition(")")[2].split()[1])
    orphans.append(ProcessIdentity.of(step))
    os.kill(worker, signal.SIGKILL)
    postgres = stack.pid_of("postgres")
    assert postgres
    os.kill(postgres, signal.SIGKILL)

    until(lambda: not any(orphan and orphan.alive for orphan in orphans), 15)  # they would go on writing
    for run in (spared, step_killed, task_killed, worker_killed):
        assert api.wait_run("counting", run, 120) == "success"
    assert tries(api, step_killed) == [2]
    assert tries(api, task_killed) == [2]
    assert (tmp_path / "spared").read_text() == str(sum(range(21)))
    assert (tmp_path / "step").read_text() == str(sum(range(4)))
    assert (tmp_path / "task").read_text() == str(sum(range(5)))
    assert (tmp_path / "worker").read_text() == str(sum(range(16)))
    stack.wait_well(60)


def test_kill_9_of_the_scheduler_ends_in_a_completed_retry(stack: RunningStack, api: AirflowApi, tmp_path: Path):
    run, step, _ = start_counting(api, tmp_path / "out", 10)
    orphan = ProcessIdentity.of(step)
    scheduler = stack.pid_of("scheduler")
    assert scheduler
    assert orphan
    os.kill(scheduler, signal.SIGKILL)
    until(lambda: not orphan.alive, 15)
    assert command("status").returncode == 1
    assert api.wait_run("counting", run, 90) == "success"
    assert (tmp_path / "out").read_text() == str(sum(range(11)))
    stack.wait_well(60)


def test_down_leaves_no_process_although_a_task_is_running(stack: RunningStack, api: AirflowApi, tmp_path: Path):
    _, step, _ = start_counting(api, tmp_path / "out", 600)
    assert len(processes(stack.home)) > 8
    down = command("down")
    assert down.returncode == 0, down.stderr
    assert "scheduler" in down.stdout
    assert processes(stack.home) == []
    assert ProcessIdentity.of(step) is None
    assert command("status").returncode == 3
    nothing = command("down")
    assert (nothing.returncode, "Nothing is up" in nothing.stdout) == (0, True)


def test_the_next_start_is_quicker_and_closes_a_home_of_before_and_a_killed_supervisor_takes_everything_with_it(
    stack: RunningStack,
):
    password, key = stack.login.password, (stack.home / "airflow" / "jwt.key").read_text()
    stack.login.file.unlink()  # as in a home of a version without a login
    for folder in (stack.home, stack.home / "logs"):
        folder.chmod(0o755)
    up = command("up", "--s3", "--workspace", "s3://runs/here")
    assert up.returncode == 0, up.stderr
    assert "db-migrate" not in up.stdout
    assert f"{stack.home} was open to other users of this machine; now it is closed to them." in up.stdout
    assert [folder.stat().st_mode & 0o777 for folder in (stack.home, stack.home / "logs")] == [0o700, 0o700]
    running = find()
    assert running
    assert running.login.password != password
    assert (stack.home / "airflow" / "jwt.key").read_text() != key, "tokens of before would still be good"
    assert "tiny" in running.api.dags()
    assert running.s3_url
    assert requests.get(f"{running.s3_url}/status", timeout=5).ok
    supervisor = running.state.supervisor
    assert supervisor
    os.kill(supervisor[0], signal.SIGKILL)
    until(lambda: not processes(running.home) and find() is None, 20)
    assert command("status").returncode == 3


def test_a_stack_that_cannot_start_says_why_and_leaves_nothing(stack: RunningStack, home: Path):
    home.chmod(0o700)
    (home / "postgres" / "data").mkdir(parents=True)
    up = command("up", "--home", str(home))
    assert up.returncode == 75
    assert "postgres" in up.stderr
    assert marked({STACK_MARK: str(home)}) == []
    assert json.loads((home / "state.json").read_text())["phase"] == "down"


def test_without_dags_the_sentence_says_where_they_were_sought(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KEPLER_TRAIN_DAGS", str(home / "nowhere"))
    with pytest.raises(UserError, match=r"KEPLER_TRAIN_DAGS names .*nowhere"):
        Stack(home).start()
