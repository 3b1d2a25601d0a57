"""Follow a run of a DAG task by task, and list what failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kepler_train.local.airflow_api import AirflowApi

_LAST_LINES = 15


def follow_run(api: AirflowApi, dag_id: str, run_id: str, tell: Callable[[str], None], seconds: float = 900.0) -> str:
    """Tell every change of a task's state until the run ends; return success or failed."""
    told: dict[tuple[str, int], tuple[str, int]] = {}

    def tell_changes() -> None:
        for task in sorted(api.task_instances(dag_id, run_id), key=lambda task: task["start_date"] or "~"):
            key, now = (task["task_id"], task["map_index"]), (task["state"], task["try_number"])
            if now[0] not in (None, "none", "scheduled", "queued", "removed") and told.get(key) != now:
                told[key] = now
                tell(_line(task))

    return api.wait_run(dag_id, run_id, seconds, tell_changes)


def failed_tasks(api: AirflowApi, dag_id: str, run_id: str) -> list[tuple[str, list[str]]]:
    """Return the tasks that failed, each with the end of its log."""
    failed = []
    for task in api.task_instances(dag_id, run_id):
        if task["state"] == "failed":
            log = api.task_log(dag_id, run_id, task["task_id"], task["try_number"], task["map_index"])
            lines = [line for line in log.splitlines() if line.strip() and not line.startswith("::")]
            failed.append((_name(task), lines[-_LAST_LINES:]))
    return failed


def _name(task: dict[str, Any]) -> str:
    part = task.get("rendered_map_index") or (task["map_index"] if task["map_index"] >= 0 else "")
    return f"{task['task_id']} {part}".strip()


def _line(task: dict[str, Any]) -> str:
    lasted = f" after {task['duration']:.1f} s" if task["duration"] and task["state"] != "running" else ""
    tried = f" (try {task['try_number']})" if task["try_number"] > 1 else ""
    return f"  {_name(task):<64} {task['state']}{lasted}{tried}"
