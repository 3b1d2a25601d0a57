import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kepler_train.presets import with_preset
from kepler_train.spec import form_schema, read_spec

ROOT = Path(__file__).resolve().parents[2]
DAG = "train_rapl-sysfs_BPFOnly"
STEPS = ["plan", "stress", "query", "validate", "extract", "isolate", "train", "evaluate", "export", "publish"]


def describe(tmp_path_factory, **environment):
    home = tmp_path_factory.mktemp("airflow")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KEPLER_TRAIN_", "AIRFLOW"))}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/airflow/describe_dags.py")],
        env={
            **clean,
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
            "PYTHONPATH": str(ROOT / "plugins"),
            "KEPLER_TRAIN_WORKSPACE": "/somewhere",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))[7:])


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return describe(tmp_path_factory)


@pytest.fixture(scope="module")
def pods(tmp_path_factory):
    return describe(
        tmp_path_factory,
        KEPLER_TRAIN_RUNTIME="pods",
        KEPLER_TRAIN_PAIRS="rapl-sysfs/BPFOnly, acpi/CounterOnly, acpi/ThirdParty, acpi/CounterOnlly",
    )


def test_there_is_one_dag_per_pair_and_every_file_imports(local, pods):
    assert local["errors"] == pods["errors"] == {}
    assert list(local["dags"]) == [DAG]
    assert sorted(pods["dags"]) == [
        "train_acpi_CounterOnlly",
        "train_acpi_CounterOnly",
        "train_acpi_ThirdParty",
        DAG,
    ]


def test_a_wrong_pair_has_a_dag_that_fails_with_the_sentence_and_runs_by_itself_never(pods):
    wrong = pods["dags"]["train_acpi_CounterOnlly"]
    assert "There is no feature group 'CounterOnlly': did you mean 'CounterOnly'?" in wrong["doc"]
    assert (list(wrong["tasks"]), wrong["timetable"]) == (["settings_are_wrong"], "NullTimetable")


def test_a_group_that_needs_metrics_is_triggered_with_them_or_not_at_all(pods):
    dag = pods["dags"]["train_acpi_ThirdParty"]
    assert dag["timetable"] == "NullTimetable"
    assert dag["values"]["thirdparty_metrics"] is None


def test_a_dag_is_small_as_its_tasks_do_not_repeat_its_parameters(local, pods):
    assert max(dag["bytes"] for dags in (local, pods) for dag in dags["dags"].values()) < 42_000


def test_every_step_is_a_task_behind_the_one_before_it(local):
    tasks = local["dags"][DAG]["tasks"]
    for before, after in itertools.pairwise(STEPS):
        assert before in tasks[after]["upstream"]
        assert tasks[after]["step"] == after


def test_steps_are_processes_or_pods_by_the_setting_alone(local, pods):
    here, there = local["dags"][DAG]["tasks"], pods["dags"][DAG]["tasks"]
    assert {here[step]["operator"] for step in STEPS} == {"LocalStep"}
    assert {there[step]["operator"] for step in STEPS} == {"PodStep"}
    assert {step: here[step]["arguments"] for step in STEPS} == {step: there[step]["arguments"] for step in STEPS}
    assert here.keys() == there.keys()


def test_local_steps_do_not_pay_for_the_kubernetes_client(local, pods):
    assert local["kubernetes"] is False
    assert pods["kubernetes"] is True


def test_a_night_and_a_backfill_have_a_real_window_and_nothing_starts_by_itself(local):
    dag = local["dags"][DAG]
    assert dag["timetable"] == "WindowTimetable"
    assert dag["paused"] is True
    assert dag["catchup"] is False


def test_a_failed_node_or_trainer_neither_stops_the_others_nor_leaves_the_run_green(local):
    tasks = local["dags"][DAG]["tasks"]
    assert tasks["isolate"]["upstream"] == ["extract"]
    assert tasks["isolate"]["trigger_rule"] == tasks["evaluate"]["trigger_rule"] == "all_done_min_one_success"
    assert tasks["nothing_failed"]["upstream"] == ["extract", "publish", "train"]
    assert tasks["nothing_failed"]["trigger_rule"] == "all_success"
    downstream = {name for task in tasks.values() for name in task["upstream"]}
    assert set(tasks) - downstream == {"nothing_failed"}  # the one leaf decides the run's colour


def test_nodes_and_models_have_a_task_each(local, pods):
    for dags in (local, pods):
        tasks = dags["dags"][DAG]["tasks"]
        assert {name for name, task in tasks.items() if task["mapped"]} == {"extract", "train"}
        assert (tasks["extract"]["upstream"], tasks["train"]["upstream"]) == (
            ["nodes", "validate"],
            ["isolate", "models"],
        )
        assert tasks["nodes"]["upstream"] == tasks["models"]["upstream"] == ["plan"]


def test_a_machine_under_load_does_nothing_else_of_ours(local, pods):
    tasks = local["dags"][DAG]["tasks"]
    assert {task["pool"] for name, task in tasks.items() if name != "nothing_failed"} == {"kepler_machine"}
    assert (tasks["stress"]["slots"], tasks["query"]["slots"]) == (128, 1)  # of 128
    tasks = pods["dags"][DAG]["tasks"]
    assert (tasks["stress"]["pool"], tasks["query"]["pool"]) == ("kepler_stress", "default_pool")


def test_a_run_without_stress_goes_on_and_two_runs_do_not_stress_at_once(local, pods):
    for dags in (local, pods):
        tasks = dags["dags"][DAG]["tasks"]
        assert tasks["query"]["trigger_rule"] == "none_failed"
        assert tasks["query"]["upstream"] == ["stress"]  # nor is anything asked of Prometheus while the load runs


def test_the_form_is_the_spec(local):
    dag = local["dags"][DAG]
    assert set(dag["values"]) == {"preset", *form_schema()}
    assert read_spec(with_preset(dag["values"], dag["values"])).energy_sources == ["rapl-sysfs"]
    shown = [name for name, section in dag["sections"].items() if section is None]
    assert shown == ["preset", "nodes", "start", "end", "window_seconds", "stress"]  # the rest is folded
    assert dag["values"]["pipeline"] == DAG


def test_the_installation_may_set_defaults(tmp_path, tmp_path_factory):
    defaults = tmp_path / "defaults.json"
    defaults.write_text('{"FEATURE_GROUP": "Basic", "folds": 5, "prometheus": "http://prometheus:9090"}')
    values = describe(tmp_path_factory, KEPLER_TRAIN_DEFAULTS=str(defaults))["dags"][DAG]["values"]
    assert values["folds"] == 5
    assert values["prometheus"] == "http://prometheus:9090"
    assert values["feature_groups"] == ["BPFOnly"]  # the DAG's own group is not a default to change


def test_the_docs_of_the_dag_tell_where_the_results_are(local):
    assert "runs/<pipeline>/<run id>/<step>/" in local["dags"][DAG]["doc"]
