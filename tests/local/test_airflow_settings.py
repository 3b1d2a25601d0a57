"""Which of the caller's AIRFLOW_… variables reach the stack's Airflow."""

from __future__ import annotations

import os

import pytest

from kepler_train.local.airflow import forget_other_airflows


def test_settings_of_another_airflow_are_forgotten_and_what_may_be_tuned_stays(monkeypatch: pytest.MonkeyPatch):
    kept = {
        "AIRFLOW__CORE__PARALLELISM": "3",
        "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        "AIRFLOW_CONN_KUBERNETES_DEFAULT": "kubernetes://",
        "AIRFLOW_VAR_COLOUR": "green",
    }
    foreign = {
        "AIRFLOW_HOME": "/srv/airflow",
        "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
        "AIRFLOW__SECRETS__BACKEND": "some.other.Backend",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD": "cat /srv/airflow/database",
    }
    for name, value in {**kept, **foreign}.items():
        monkeypatch.setenv(name, value)
    forget_other_airflows()
    assert {name: value for name, value in os.environ.items() if name.startswith("AIRFLOW_")} == kept
