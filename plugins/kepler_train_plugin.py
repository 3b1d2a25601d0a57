"""What Airflow itself is given: a guard for the API server of the embedded stack, which alone names its hosts."""

from __future__ import annotations

import os
from typing import Any

from airflow.plugins_manager import AirflowPlugin

_HOSTS = os.environ.get("KEPLER_TRAIN_ALLOWED_HOSTS", "")


def _middlewares() -> list[dict[str, Any]]:
    if not _HOSTS:
        return []
    from kepler_airflow.guard import Guard

    return [{"name": "guard", "middleware": Guard, "kwargs": {"hosts": _HOSTS.split(",")}}]


class KeplerTrainPlugin(AirflowPlugin):
    """The plugin of kepler-train."""

    name = "kepler_train"
    fastapi_root_middlewares = _middlewares()
