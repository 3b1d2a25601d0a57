"""One real stack for all tests of a session that only need a running one: a node's history, Prometheus, S3, Airflow."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kepler_train.local.outside_home import sweep
from kepler_train.local.stack import RunningStack, Stack
from kepler_train.local.state import Settings
from kepler_train.simulate.history import exported, write_history, write_schedule
from kepler_train.simulate.node import run_nodes
from kepler_train.simulate.options import scenario

DAG = "train_rapl-sysfs_BPFOnly"
# Six hours of yesterday, between two midnights and inside the window of one nightly run (02:00 to 02:00).
START = (datetime.now(UTC) - timedelta(days=2)).replace(hour=4, minute=0, second=0, microsecond=0)
WINDOW = {"start": f"{START:%Y-%m-%dT%H:%M:%SZ}", "end": f"{START + timedelta(hours=6):%Y-%m-%dT%H:%M:%SZ}"}
# The stack's own Prometheus gets them from the steps, and does not ask for any.
SECRETS = {"PROMETHEUS_PASSWORD": "password-6d1b0f52", "PROMETHEUS_HEADERS": "X-Scope-OrgID: tenant-1c9e7a33"}


@contextmanager
def stack_on_a_history() -> Iterator[RunningStack]:
    """Run a stack in a folder that everybody can enter, started with a umask that would let them read and write."""
    folder = Path(tempfile.mkdtemp(prefix="kt-"))
    folder.chmod(0o755)
    runs = run_nodes(scenario(duration="6h", start=WINDOW["start"], phase="5m", idle="3m"))
    write_history(folder / "history.om", exported(runs, "legacy", ["rapl-sysfs"], frozenset(), 0))
    write_schedule(folder / "schedule.json", runs, "simulated")
    defaults = {
        "schedule": str(folder / "schedule.json"),
        "folds": 3,
        "gate_mae": 40,
        "gate_limit": 1000,
        "TRAINERS": "LinearRegressionTrainer",
    }
    (folder / "defaults.json").write_text(json.dumps(defaults))
    settings = Settings(prometheus_data=str(folder / "history.om"), defaults=str(folder / "defaults.json"), s3=True)
    umask = os.umask(0)
    environment = pytest.MonkeyPatch()
    try:
        for name, value in {**SECRETS, "PROMETHEUS_USERNAME": "meter"}.items():
            environment.setenv(name, value)
        # Somebody's wish for a stack without a login, which is not granted.
        environment.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True")
        with Stack(folder / "home", settings).running(300) as up:
            environment.undo()  # the stack has them; tests that run meanwhile must not
            os.umask(umask)
            up.api.wait_dag(DAG, 120)
            up.api.unpause(DAG)
            yield up
    finally:
        environment.undo()
        os.umask(umask)
        shutil.rmtree(folder)
        sweep()  # root's database was outside of it
