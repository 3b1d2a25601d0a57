"""What the command line costs before it works: CPU time of children, as medians.

python bench/run_step.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

RUNS = 5
PROGRAM = str(Path(sys.executable).with_name("kepler-train"))
NIGHT = {"start": "2026-11-13T00:00:00Z", "end": "2026-11-13T02:00:00Z"}
QUERY_FILE, QUERY_CONTENT = "node.parquet", b"what a query of that night left"


def cpu_seconds(command: list[str]) -> float:
    """User and system time of a child and its children (s)."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def done_run(workspace: Path) -> None:
    """A planned run whose query is done, without a Prometheus to ask."""
    from kepler_train.runs.registry import STEPS
    from kepler_train.runs.runner import run_step
    from kepler_train.spec import RunSpec
    from kepler_train.workspace import Inputs, Run, Step, open_store

    class Recorded(Step):
        def call(self, inputs: Inputs, spec: RunSpec, out: Path) -> dict[str, int]:  # noqa: ARG002
            (out / QUERY_FILE).write_bytes(QUERY_CONTENT)
            return {"series": 1}

    spec, run = RunSpec.model_validate(NIGHT), Run.named(open_store(str(workspace)), "bench/1")
    run_step(STEPS["plan"], STEPS, run, spec)
    run_step(Recorded("query", "", needs=("plan",)), STEPS, run, spec)


def main() -> None:
    """Print one row per command."""
    with tempfile.TemporaryDirectory() as folder:
        with redirect_stdout(None):
            done_run(Path(folder))
        unchanged = [PROGRAM, "run-step", "query", "--workspace", folder, "--run", "bench/1"]
        said = subprocess.run(unchanged, check=True, capture_output=True, text=True).stdout
        assert "nothing has changed" in said, said
        rows = {
            "python -c pass": ([sys.executable, "-c", "pass"], None),
            "kepler-train --help": ([PROGRAM, "--help"], 0.4),
            "kepler-train run-step, unchanged": (unchanged, 0.6),
        }
        print(f"{'command':<34} {'CPU s':>7} {'limit':>7}   (median of {RUNS}, load {os.getloadavg()[0]:.1f})")
        for name, (command, limit) in rows.items():
            median = statistics.median(cpu_seconds(command) for _ in range(RUNS))
            verdict = "" if limit is None else f"{limit:7.1f}   {'kept' if median <= limit else 'BROKEN'}"
            print(f"{name:<34} {median:7.2f} {verdict}")


if __name__ == "__main__":
    main()
