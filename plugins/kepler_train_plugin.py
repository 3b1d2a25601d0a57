"""What Airflow itself is given: when DAGs run, and guards in front of its API server.

One keeps secrets out of requests for runs; the other is for the embedded stack, which alone names its hosts.
"""

from __future__ import annotations

import os
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from kepler_airflow import listener
from kepler_airflow.window_timetable import WindowTimetable

_HOSTS = os.environ.get("KEPLER_TRAIN_ALLOWED_HOSTS", "")


def _middlewares() -> list[dict[str, Any]]:
    from kepler_airflow.guard import Guard
    from kepler_airflow.secret_guard import SecretGuard

    secrets = {"name": "secrets", "middleware": SecretGuard, "kwargs": {}}
    if not _HOSTS:
        return [secrets]
    return [secrets, {"name": "guard", "middleware": Guard, "kwargs": {"hosts": _HOSTS.split(",")}}]


class KeplerTrainPlugin(AirflowPlugin):
    """The plugin of kepler-train."""

    name = "kepler_train"
    fastapi_root_middlewares = _middlewares()
    timetables = (WindowTimetable,)
    listeners = (listener,)
