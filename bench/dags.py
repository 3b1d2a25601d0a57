"""What the DAGs of a large installation cost Airflow: CPU time to parse and serialize them, and their size.

Limits: 84 DAGs (14 feature groups, 6 energy sources) in 6 CPU s together, 40 kB each.

python bench/dags.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CPU_SECONDS, KILOBYTES = 6.0, 40.0


def measure() -> None:
    """Parse and serialize the DAGs as the DAG processor does; print what it took."""
    import time

    from airflow.dag_processing.dagbag import DagBag
    from airflow.serialization.serialized_objects import DagSerialization

    start = time.process_time()
    bag = DagBag(str(ROOT / "dags"))
    parsed = time.process_time()
    sizes = [len(json.dumps(DagSerialization.to_dict(dag))) for dag in bag.dags.values()]
    end = time.process_time()
    print(json.dumps({"dags": len(sizes), "parse": parsed - start, "serialize": end - parsed, "largest": max(sizes)}))


def main() -> None:
    """Measure in a process of its own, since Airflow reads its settings once."""
    from kepler_train.catalog import catalog

    pairs = [f"{source}/{group}" for source in catalog().energy_sources for group in catalog().feature_groups]
    with tempfile.TemporaryDirectory() as home:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("KEPLER_TRAIN_", "AIRFLOW"))}
        done = subprocess.run(
            [sys.executable, __file__, "--measure"],
            env={
                **clean,
                "AIRFLOW_HOME": home,
                "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
                "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
                "PYTHONPATH": str(ROOT / "plugins"),
                "KEPLER_TRAIN_WORKSPACE": home,
                "KEPLER_TRAIN_PAIRS": ",".join(pairs),
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found = json.loads(done.stdout.splitlines()[-1])
    seconds, size = found["parse"] + found["serialize"], found["largest"] / 1000
    print(f"{found['dags']} DAGs: parsed in {found['parse']:.1f} CPU s, serialized in {found['serialize']:.1f} CPU s")
    print(f"together {seconds:.1f} CPU s (limit {CPU_SECONDS:g}), the largest has {size:.1f} kB (limit {KILOBYTES:g})")
    if seconds > CPU_SECONDS or size > KILOBYTES:
        sys.exit("beyond the limit")


if __name__ == "__main__":
    measure() if "--measure" in sys.argv else main()
