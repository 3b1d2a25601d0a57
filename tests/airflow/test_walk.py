"""The whole walk on real parts: simulated node, Prometheus, Airflow on PostgreSQL, steps as processes."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from browsing import log_in
from running_stack import DAG, SECRETS, START, WINDOW

from kepler_train.errors import UserError
from kepler_train.local.follow import failed_tasks
from kepler_train.models import load_model
from kepler_train.workspace import Run, open_store

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.json"))
NO_DATA = {"start": "2020-01-01T00:00:00Z", "end": "2020-01-02T00:00:00Z"}

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def stack(running_stack):
    return running_stack


@pytest.fixture(scope="module")
def page(stack, chromium):
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(60_000)
    log_in(page, stack)
    yield page
    page.close()


@pytest.fixture(scope="module")
def runs(stack):
    """Runs that do not disturb each other, all begun at once so that their waits overlap; the ids by what they are."""
    confs = {
        "good": WINDOW | {"TRAINERS": "LinearRegressionTrainer,XgboostFitTrainer"},
        "failed trainer": WINDOW,
        "failed node": WINDOW | {"nodes": ["node-0", "10.0.0.7:9102"]},
        "no data": NO_DATA,
        "not scraped": {"stress": True, "schedule": None},
        "unknown key": WINDOW | {"feature_grups": ["BPFOnly"]},
        **{file.stem: NO_DATA | json.loads(file.read_text()) for file in EXAMPLES},
        "another server": WINDOW | {"prometheus": "http://127.0.0.1:9/prom"},
    }
    started = {}
    for name, conf in confs.items():
        started[name] = stack.api.trigger(DAG, conf)
        if name == "failed trainer":
            # A file where the model's folder must go: this one model cannot be written.
            run = files_of(stack, started[name])
            obstacle = stack.home / "workspace" / run.folder("train", "rapl-sysfs/DynPower")
            umask = os.umask(0o077)  # as the stack writes
            obstacle.parent.mkdir(parents=True)
            obstacle.write_text("in the way")
            os.umask(umask)
    return started


@pytest.fixture(scope="module")
def good(stack, runs):
    """A run of the whole history, ended."""
    state = stack.api.wait_run(DAG, runs["good"], 400)
    assert state == "success", failed_tasks(stack.api, DAG, runs["good"])
    return runs["good"]


def files_of(stack, run_id):
    return Run.named(open_store(str(stack.home / "workspace")), f"{DAG}/{run_id}")


def tasks_of(stack, run_id):
    return {(task["task_id"], task["rendered_map_index"]): task for task in stack.api.task_instances(DAG, run_id)}


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


def step_process(step, run_id):
    """The process of a running step of a run."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if "run-step" in words and step in words and any(run_id in word for word in words):
                return int(folder.name)
    return None


def test_a_run_publishes_four_models_that_can_be_loaded(stack, good):
    run = files_of(stack, good)
    published = json.loads(run.store.read(f"{run.folder('publish')}/published.json"))
    place = Path(published["place"])  # `latest` may by now be of another of these runs, which have one window
    assert (place.parent / "latest").resolve().parent == place.parent
    models = sorted(place.glob("*/*/*/*/metadata.json"))
    assert len(models) == 4
    for metadata in models:
        assert load_model(metadata.parent).features == ["bpf_cpu_time_ms", "bpf_page_cache_hit"]
    assert (place / "README.md").read_text().count("Trainer | BPFOnly |") == 4 * 4  # models, components
    assert (place / "held_out.png").stat().st_size > 10_000


def test_every_step_leaves_a_manifest_with_hashes_of_what_it_read(stack, good):
    run = files_of(stack, good)
    for step in ("plan", "query", "validate", "extract", "isolate", "evaluate", "export", "publish"):
        assert run.manifest(step) is not None, step
    query, extract = run.manifest("query"), run.manifest("extract")
    read = {(record.path, record.sha256) for record in extract.inputs if record.step == "query"}
    assert read == {(record.path, record.sha256) for record in query.outputs}
    assert query.figures["samples"] > 30_000


def test_a_run_without_stress_starts_nothing_for_it(stack, good):
    assert tasks_of(stack, good)["stress", None]["state"] == "skipped"
    assert tasks_of(stack, good)["stress", None]["try_number"] == 0  # no process was started to find that out
    assert files_of(stack, good).manifest("stress") is None


def test_a_machine_of_which_prometheus_hears_nothing_is_not_stressed(stack, runs):
    run_id = runs["not scraped"]
    assert stack.api.wait_run(DAG, run_id, 120) == "failed"
    states = {name: (task["state"], task["try_number"]) for (name, _), task in tasks_of(stack, run_id).items()}
    assert states["stress"] == ("failed", 1)
    assert states["query"][0] == "upstream_failed"
    assert "that Kepler is scraped there" in stack.api.task_log(DAG, run_id, "stress")


def test_the_task_log_shows_the_steps_own_lines(stack, good):
    log = stack.api.task_log(DAG, good, "validate")
    assert "  valid      BPFOnly" in log
    assert "Traceback" not in log
    assert "error calling listener" not in log


def test_the_window_is_the_one_that_was_asked_for(stack, good):
    spec = json.loads(files_of(stack, good).store.read(f"{files_of(stack, good).folder('plan')}/spec.json"))
    assert {name: spec[name] for name in WINDOW} == WINDOW


def test_a_killed_step_is_tried_again_and_the_result_is_right(stack, good):
    run_id = stack.api.trigger(DAG, WINDOW)
    os.kill(wait_for(lambda: step_process("extract", run_id)), signal.SIGKILL)
    assert stack.api.wait_run(DAG, run_id, 300) == "success", failed_tasks(stack.api, DAG, run_id)
    assert tasks_of(stack, run_id)["extract", "whole"]["try_number"] == 2
    assert "The step extract was killed by signal 9" in stack.api.task_log(DAG, run_id, "extract", 1, map_index=0)
    ours, theirs = (files_of(stack, one).manifest("extract").outputs for one in (run_id, good))
    assert ours == theirs  # the same files, by hash


def test_a_run_with_a_failed_trainer_is_red_and_publishes_what_is_good(stack, runs):
    run_id = runs["failed trainer"]
    run = files_of(stack, run_id)
    assert stack.api.wait_run(DAG, run_id, 300) == "failed"
    states = {key: (task["state"], task["try_number"]) for key, task in tasks_of(stack, run_id).items()}
    assert states["train", "rapl-sysfs/DynPower/BPFOnly/LinearRegressionTrainer"] == ("failed", 1)
    assert states["train", "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer"] == ("success", 1)
    assert states["publish", None] == ("success", 1)
    assert states["nothing_failed", None][0] == "upstream_failed"
    place = json.loads(run.store.read(f"{run.folder('publish')}/published.json"))["place"]
    assert len(list(Path(place).glob("*/*/*/*.zip"))) == 1
    assert "LinearRegressionTrainer | see the log of its task |" in Path(place, "README.md").read_text()


def test_a_run_with_a_failed_node_is_red_and_learns_from_the_others(stack, runs):
    run_id = runs["failed node"]
    assert stack.api.wait_run(DAG, run_id, 300) == "failed"
    tasks = tasks_of(stack, run_id)
    states = {key: (task["state"], task["try_number"]) for key, task in tasks.items()}
    assert states["extract", "node-0"] == ("success", 1)
    assert states["extract", "10.0.0.7:9102"] == ("failed", 1)
    assert (states["isolate", None], states["publish", None]) == (("success", 1), ("success", 1))
    assert states["nothing_failed", None][0] == "upstream_failed"
    number = tasks["extract", "10.0.0.7:9102"]["map_index"]
    assert "no energy counters of the node 10.0.0.7:9102" in stack.api.task_log(DAG, run_id, "extract", 1, number)


def test_a_window_without_data_fails_once_with_one_sentence(stack, runs):
    run_id = runs["no data"]
    assert stack.api.wait_run(DAG, run_id, 120) == "failed"
    query = tasks_of(stack, run_id)["query", None]
    assert (query["state"], query["try_number"]) == ("failed", 1)
    assert "has no energy counters of Kepler for rapl-sysfs" in stack.api.task_log(DAG, run_id, "query")


def test_a_name_that_the_form_does_not_have_is_refused_at_the_trigger(stack):
    with pytest.raises(UserError, match="BPFonly"):
        stack.api.trigger(DAG, {"feature_groups": ["BPFonly"]})


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({"start": "yesterday"}, "yesterday"),
        ({"end": "2026-11-14T02:00:00"}, "2026-11-14T02:00:00"),  # of which zone?
        ({"window_seconds": 1e9}, "maximum"),
        ({"nodes": [""]}, "non-empty|too short"),
        ({"preset": "quik"}, "quik"),
        ({"stress_args": ["cpu; rm -rf /"]}, "does not match"),
        ({"pipeline": "a/b"}, "does not match"),
    ],
)
def test_what_a_schema_can_refuse_is_refused_at_the_trigger(stack, conf, said):
    with pytest.raises(UserError, match=said):
        stack.api.trigger(DAG, conf)


def test_a_name_that_only_the_plan_can_refuse_is_refused_there(stack, runs):
    run_id = runs["unknown key"]
    assert stack.api.wait_run(DAG, run_id, 120) == "failed"
    plan = tasks_of(stack, run_id)["plan", None]
    assert (plan["state"], plan["try_number"]) == ("failed", 1)
    log = stack.api.task_log(DAG, run_id, "plan")
    assert "There is no parameter 'feature_grups': did you mean 'feature_groups'?" in log


@pytest.mark.parametrize("example", [file.stem for file in EXAMPLES])
def test_an_example_starts_a_run_of_its_values(stack, runs, example):
    run_id = runs[example]
    assert stack.api.wait_run(DAG, run_id, 300) == "failed"  # of a window without data
    assert tasks_of(stack, run_id)["plan", None]["state"] == "success"
    run = files_of(stack, run_id)
    spec = json.loads(run.store.read(f"{run.folder('plan')}/spec.json"))
    values = json.loads(next(file for file in EXAMPLES if file.stem == example).read_text())
    assert {name: spec[name] for name in values} == values


def test_a_cleared_query_asks_prometheus_again(stack, good):
    before = files_of(stack, good).manifest("query")
    stack.api._call(
        "POST",
        f"/dags/{DAG}/clearTaskInstances",
        json={"dry_run": False, "dag_run_id": good, "task_ids": ["query"], "only_failed": False},
    )
    assert stack.api.wait_run(DAG, good, 120) == "success"
    after = files_of(stack, good).manifest("query")
    assert after.started > before.ended
    assert after.figures["samples"] == before.figures["samples"]
    log = stack.api.task_log(DAG, good, "query", 2)
    assert "query: done in" in log
    assert "nothing has changed" not in log


def test_a_run_that_is_triggered_with_a_logical_date_learns_from_what_its_form_says(stack, good):
    date = START + timedelta(hours=5)
    body = {
        "logical_date": f"{date:%Y-%m-%dT%H:%M:%SZ}",
        "conf": {"window_seconds": 3600, "preset": "quick", "folds": 4},
    }
    run_id = stack.api._call("POST", f"/dags/{DAG}/dagRuns", json=body)["dag_run_id"]
    wait_for(lambda: tasks_of(stack, run_id).get(("plan", None), {}).get("state") == "success")
    run = files_of(stack, run_id)
    spec = json.loads(run.store.read(f"{run.folder('plan')}/spec.json"))
    assert (spec["start"], spec["end"]) == (f"{date - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}", body["logical_date"])
    assert (spec["folds"], spec["stress_timeout"]) == (4, 10)  # as somebody chose, and else as the preset says
    log = stack.api.task_log(DAG, run_id, "plan")
    assert "the last 3,600 s (window_seconds) before the run was due" in log
    stack.api.wait_run(DAG, run_id, 300)


def test_airflows_own_commands_reach_the_stack(stack, good):
    command = [sys.executable, "-m", "kepler_train", "local", "airflow", "--home", str(stack.home)]
    done = subprocess.run([*command, "pools", "list", "-o", "json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    pools = json.loads(done.stdout[done.stdout.index("[{") :])
    assert {pool["pool"]: pool["slots"] for pool in pools}.items() >= {
        "kepler_machine": "128",
        "kepler_stress": "1",
    }.items()


def test_unpausing_a_dag_starts_no_run_beside_the_one_that_was_triggered(stack, good):
    kinds = [run["run_type"] for run in stack.api._call("GET", f"/dags/{DAG}/dagRuns")["dag_runs"]]
    assert "manual" in kinds
    assert "scheduled" not in kinds


def test_a_run_that_names_another_server_gets_no_credentials_for_it(stack, runs):
    run_id = runs["another server"]
    assert stack.api.wait_run(DAG, run_id, 120) == "failed"
    plan = tasks_of(stack, run_id)["plan", None]
    assert (plan["state"], plan["try_number"]) == ("failed", 1)
    log = stack.api.task_log(DAG, run_id, "plan")
    own = stack.state.urls["prometheus"]
    assert f"PROMETHEUS_USERNAME and PROMETHEUS_HEADERS are for {own}, not for http://127.0.0.1:9/prom" in log


@pytest.mark.parametrize("name", ["prometheus", "schedule", "publish_to"])
def test_a_secret_in_an_address_is_refused_at_the_trigger_and_not_stored(stack, name):
    before = stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"]
    with pytest.raises(UserError, match=f"{name}: credentials do not belong into an address"):
        stack.api.trigger(DAG, {name: "S3://AKIA:refused-2f8c7b10@bucket/x"})
    assert stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"] == before
    newest = {"limit": 50, "order_by": "-when"}  # of the audit log, which keeps requests that Airflow refuses too
    entries = stack.api._call("GET", "/eventLogs", params=newest)
    assert "trigger_dag_run" in json.dumps(entries)
    assert "refused-2f8c7b10" not in json.dumps(entries)
    logs = [file for name in ("logs", "airflow") for file in (stack.home / name).rglob("*") if file.is_file()]
    assert [file for file in logs if b"refused-2f8c7b10" in file.read_bytes()] == []


def test_no_secret_is_in_what_airflow_keeps_shows_or_starts(stack, good):
    secrets = [value.split()[-1] for value in SECRETS.values()]
    kept = {}
    for task in stack.api.task_instances(DAG, good):
        path = f"/dags/{DAG}/dagRuns/{good}/taskInstances/{task['task_id']}"
        kept[task["task_id"]] = json.dumps(
            stack.api._call("GET", f"{path}/listMapped" if task["map_index"] >= 0 else path)
        )
    assert "KEPLER_TRAIN_TRUSTED_SERVERS" in kept["plan"]
    kept["conf"] = json.dumps(stack.api._call("GET", f"/dags/{DAG}/dagRuns/{good}"))
    files = [file for folder in (stack.home, Path(stack.state.postgres_data)) for file in folder.rglob("*")]
    for file in [*files, *Path("/proc").glob("[0-9]*/cmdline")]:
        with suppress(OSError):  # a folder, or gone by now
            kept[str(file)] = file.read_bytes().decode("latin-1")
    assert [name for name, text in kept.items() if any(secret in text for secret in secrets)] == []


def test_a_backfill_learns_from_its_data_interval(stack):
    day = START.replace(hour=2)
    created = stack.api._call(
        "POST",
        "/backfills",
        json={
            "dag_id": DAG,
            "from_date": f"{day:%Y-%m-%dT%H:%M:%SZ}",
            "to_date": f"{day:%Y-%m-%dT%H:%M:%SZ}",
            "dag_run_conf": {},
        },
    )
    assert created["dag_id"] == DAG

    def backfilled():
        runs = stack.api._call("GET", f"/dags/{DAG}/dagRuns")["dag_runs"]
        return [run["dag_run_id"] for run in runs if run["run_type"] == "backfill"]

    [run_id] = wait_for(backfilled)
    assert stack.api.wait_run(DAG, run_id, 300) == "success", failed_tasks(stack.api, DAG, run_id)
    spec = json.loads(files_of(stack, run_id).store.read(f"{files_of(stack, run_id).folder('plan')}/spec.json"))
    assert spec["start"] == f"{day:%Y-%m-%dT%H:%M:%SZ}"
    assert spec["end"] == f"{day + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"


def test_a_backfill_with_a_window_of_its_own_is_refused_in_every_run(stack):
    day = START.replace(hour=2) - timedelta(days=3)
    body = {"dag_id": DAG, "from_date": f"{day:%Y-%m-%dT%H:%M:%SZ}", "to_date": f"{day:%Y-%m-%dT%H:%M:%SZ}"}
    wait_for(
        lambda: all(one["completed_at"] for one in stack.api._call("GET", f"/backfills?dag_id={DAG}")["backfills"])
    )
    stack.api._call("POST", "/backfills", json=body | {"dag_run_conf": WINDOW})

    def refused():
        runs = stack.api._call("GET", f"/dags/{DAG}/dagRuns", params={"limit": 100})["dag_runs"]
        return [run["dag_run_id"] for run in runs if run["run_type"] == "backfill" and run["conf"] == WINDOW]

    [run_id] = wait_for(refused)
    assert stack.api.wait_run(DAG, run_id, 120) == "failed"
    assert "Every run of a backfill learns from its own window" in stack.api.task_log(DAG, run_id, "plan")


def test_the_run_is_green_task_by_task(page, stack, good):
    page.goto(f"{stack.airflow_url}/dags/{DAG}/runs/{good}")
    for task in ("plan", "query", "train", "publish"):
        page.get_by_text(task, exact=True).first.wait_for()
    page.get_by_text("Success", exact=False).first.wait_for()


def test_the_trigger_form_has_the_run_parameters_in_their_sections_and_starts_a_run_as_it_stands(page, stack):
    before = stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"]
    page.goto(f"{stack.airflow_url}/dags/{DAG}")
    page.get_by_role("button", name="Trigger").first.click()
    form = page.get_by_role("dialog")
    for section in ("What to train", "What to collect", "How to judge", "Where to publish"):
        form.get_by_text(section).first.wait_for()
    form.get_by_role("button", name="Trigger").click()  # waits until it can be clicked
    form.wait_for(state="hidden")
    assert stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"] == before + 1


def test_the_task_log_reads_as_the_step_spoke(page, stack, good):
    page.goto(f"{stack.airflow_url}/dags/{DAG}/runs/{good}/tasks/validate")
    page.get_by_text("valid BPFOnly").first.wait_for()
