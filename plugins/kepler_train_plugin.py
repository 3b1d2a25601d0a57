"""What Airflow itself is given: when DAGs run, pages of published models, and guards in front of its API server.

One keeps secrets out of requests for runs; the other is for the embedded stack, which alone names its hosts.
"""

from __future__ import annotations

import os
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from kepler_airflow import listener
from kepler_airflow.models_page.lazy import PREFIX, ModelsPages
from kepler_airflow.window_timetable import WindowTimetable

_HOSTS = os.environ.get("KEPLER_TRAIN_ALLOWED_HOSTS", "")
# Shown inside Airflow's own pages, whose addresses these are below.
_ADDRESS = PREFIX.lstrip("/")
_MODELS = {"name": "Models", "href": f"{_ADDRESS}/", "url_route": "models", "destination": "nav", "nav_top_level": True}
_MODELS_OF_DAG = {
    "name": "Models",
    "href": f"{_ADDRESS}/of-dag/{{DAG_ID}}",
    "url_route": "models-of-dag",
    "destination": "dag",
}


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
    fastapi_apps = ({"app": ModelsPages(), "url_prefix": PREFIX, "name": "kepler models"},)
    external_views = (_MODELS, _MODELS_OF_DAG)
