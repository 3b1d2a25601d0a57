"""Prints what Airflow makes of the DAG files, as JSON: a process of its own, since Airflow reads its settings once."""

import json
import sys
from pathlib import Path

from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization

ROOT = Path(__file__).resolve().parents[2]


def described(task):
    mapped = task.is_mapped
    kwargs = task.partial_kwargs if mapped else {}
    operator = task.operator_class if mapped else type(task)
    return {
        "operator": operator.__name__,
        "upstream": sorted(task.upstream_task_ids),
        "trigger_rule": task.trigger_rule.value,
        "retries": task.retries,
        "mapped": mapped,
        "step": kwargs.get("step") if mapped else getattr(task, "step", None),
        "arguments": None if mapped else getattr(task, "arguments", None),
        "pool": task.pool,
        "slots": task.pool_slots,
    }


bag = DagBag(str(ROOT / "dags"))
dags = {
    name: {
        "tasks": {task.task_id: described(task) for task in dag.tasks},
        "timetable": type(dag.timetable).__name__,
        "paused": dag.is_paused_upon_creation,
        "catchup": dag.catchup,
        "doc": dag.doc_md,
        "values": dag.params.dump(),
        "sections": {name: dag.params.get_param(name).schema.get("section") for name in dag.params},
        "bytes": len(json.dumps(DagSerialization.to_dict(dag))),
        "tags": sorted(dag.tags),
    }
    for name, dag in bag.dags.items()
}
pods_loaded = "airflow.providers.cncf.kubernetes.operators.pod" in sys.modules
print("RESULT " + json.dumps({"dags": dags, "errors": bag.import_errors, "kubernetes": pods_loaded}, default=str))
