"""Airflow makes its home when it is imported: not in the home of whoever runs the tests."""

import json
import os
import tempfile

import pytest
from walk import DAG, WINDOW

from kepler_train.local.follow import failures
from kepler_train.local.stack import Stack
from kepler_train.local.state import Settings
from kepler_train.simulate.history import exported, write_history, write_schedule
from kepler_train.simulate.node import run_nodes
from kepler_train.simulate.options import scenario

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="kepler-train-airflow-"))


@pytest.fixture(scope="session")
def stack(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    runs = run_nodes(scenario(duration="6h", start=WINDOW["start"], phase="5m", idle="3m"))
    write_history(folder / "history.om", exported(runs, "legacy", ["rapl-sysfs"], frozenset(), 0))
    write_schedule(folder / "schedule.json", runs, "simulated")
    defaults = {
        "schedule": str(folder / "schedule.json"),
        "folds": 3,
        "gate_mae": 40,
        "TRAINERS": "LinearRegressionTrainer",
    }
    (folder / "defaults.json").write_text(json.dumps(defaults))
    os.environ["AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE"] = "False"
    settings = Settings(prometheus_data=str(folder / "history.om"), defaults=str(folder / "defaults.json"))
    try:
        with Stack(folder / "home", settings).running(300) as up:
            up.api.wait_dag(DAG, 120)
            up.api.unpause(DAG)
            yield up
    finally:
        del os.environ["AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE"]


@pytest.fixture(scope="session")
def good(stack):
    """A run of the whole history, ended."""
    run_id = stack.api.trigger(DAG, WINDOW | {"TRAINERS": "LinearRegressionTrainer,XgboostFitTrainer"})
    state = stack.api.wait_run(DAG, run_id, 400)
    assert state == "success", failures(stack.api, DAG, run_id)
    return run_id
