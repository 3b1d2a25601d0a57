"""The demo: two days of a simulated node through the whole pipeline, on the embedded stack."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kepler_train import __version__
from kepler_train.errors import KeplerTrainError, UserError
from kepler_train.events import blank, say
from kepler_train.local.follow import failed_tasks, follow_run
from kepler_train.local.private_home import UMASK, make_private
from kepler_train.local.stack import RunningStack, Stack, find
from kepler_train.local.state import Settings, home_folder
from kepler_train.records import read_record
from kepler_train.workspace import Run, open_store

if TYPE_CHECKING:
    from kepler_train.evaluate.evaluation import Evaluation

DAG = "train_rapl-sysfs_BPFOnly"
_PROTOCOLS = ("shuffled", "blocked", "leave-one-workload-out", "forward")


class DemoFailed(KeplerTrainError):
    """The run ended, but not well."""

    exit_code = 1


def demo(home: Path | None, stay: bool) -> None:
    """Lay down history, start the stack, run the DAG, show its models; `stay` keeps the UI up until Ctrl-C."""
    folder = home_folder(home)
    os.umask(UMASK)
    if make_private(folder):
        say(f"{folder} was open to other users of this machine; now it is closed to them.")
    history = lay_down_history(folder / "demo")
    running, ours = _stack(folder, history)
    try:
        _run(running, history)
        if stay and ours:
            blank()
            say(f"Airflow's UI stays up at {running.airflow_url} until you press Ctrl-C.")
            say(running.login.line())
            while find(folder) is not None:
                time.sleep(1)
    except KeyboardInterrupt:
        blank()
    finally:
        if ours and (still := find(folder)) is not None:
            say("Stopping everything.")
            still.stop()


def lay_down_history(folder: Path) -> Path:
    """Write two days of one simulated node under stress as OpenMetrics text, once for each version; return the file."""
    history, made_by = folder / "history.om", folder / "made-by"
    if made_by.exists() and made_by.read_text(encoding="utf-8") == __version__:
        say(f"Taking the simulated node's history in {folder}")
        return history
    from kepler_train.simulate.history import exported, write_history, write_schedule
    from kepler_train.simulate.node import run_nodes
    from kepler_train.simulate.options import scenario
    from kepler_train.simulate.truth import write_node_truth

    say("Simulating two days of a Kepler node under stress")
    folder.mkdir(parents=True, exist_ok=True)
    runs = run_nodes(scenario(duration="2d"))
    written = write_history(history, exported(runs, "legacy", ["rapl-sysfs", "acpi"], frozenset(), seed=0))
    write_node_truth(folder / "truth.parquet", runs)
    phases = write_schedule(folder / "schedule.json", runs, "simulated")
    made_by.write_text(__version__, encoding="utf-8")
    say(f"  {written.samples:,} samples of {written.series:,} series, {phases} load phases")
    return history


def _stack(folder: Path, history: Path) -> tuple[RunningStack, bool]:
    """Return the stack that is up in this home, or a new one, and whether it is ours to stop."""
    if (running := find(folder)) is not None:
        say(f"Using the stack that is up in {folder}.")
        return running, False
    defaults = history.with_name("defaults.json")
    content = {"schedule": str(history.with_name("schedule.json")), "machine_id": "simulated"}
    defaults.write_text(json.dumps(content), encoding="utf-8")
    # Unpausing the DAG would start last night's run beside the demo's.
    os.environ["AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE"] = "False"
    say(f"Starting PostgreSQL, Prometheus and Airflow in {folder}")
    stack = Stack(folder, Settings(prometheus_data=str(history), defaults=str(defaults)))
    return stack.start(tell=lambda line: say(f"  {line}")), True


def _run(running: RunningStack, history: Path) -> None:
    """Trigger the DAG on the whole history, follow it, and show what it published."""
    phases = json.loads(history.with_name("schedule.json").read_text(encoding="utf-8"))["phases"]
    window = {"start": phases[0]["start"], "end": phases[-1]["end"]}
    api = running.api
    api.wait_dag(DAG)
    api.unpause(DAG)
    run_id = api.trigger(DAG, window)
    blank()
    say(f"Run {run_id} of {DAG}: {running.airflow_url}/dags/{DAG}/runs/{run_id}")
    say(running.login.line())
    if follow_run(api, DAG, run_id, say) != "success":
        for task, lines in failed_tasks(api, DAG, run_id):
            blank()
            say(f"The task {task} failed. The end of its log:")
            for line in lines:
                say(f"  {line}")
        raise DemoFailed("The demo's run failed.")
    _show_models(running, run_id, history)


def _show_models(running: RunningStack, run_id: str, history: Path) -> None:
    from kepler_train.evaluate.evaluation import EVALUATION, Evaluation
    from kepler_train.publish.step import PUBLISHED, Publication

    workspace = running.state.settings.workspace or str(running.home / "workspace")
    run = Run.named(open_store(workspace), f"{DAG}/{run_id}")
    evaluation = read_record(Evaluation, _stored(run, "evaluate", EVALUATION), EVALUATION)
    published = read_record(Publication, _stored(run, "publish", PUBLISHED), PUBLISHED)
    floor = noise_floor(history.with_name("truth.parquet"))
    blank()
    say("Published models: mean absolute error in W, on rows the model had not seen")
    say("(noise floor: the error of a perfect model, known because the node is simulated)")
    blank()
    head = ("output", "trainer", "component", *_PROTOCOLS, "noise floor")
    rows = [head, *_rows(evaluation, floor)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for number, row in enumerate(rows):
        cells = [
            text.ljust(width) if n < 3 else text.rjust(width)
            for n, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells))
        if number == 0:
            say("  ".join("-" * width for width in widths))
    blank()
    say(f"Models:  {published.place}")
    say(f"Report:  {published.place}/README.md")
    say(f"Airflow: {running.airflow_url}/dags/{DAG}/runs/{run_id}")


def _rows(evaluation: Evaluation, floor: dict[str, float]) -> list[tuple[str, ...]]:
    """Return a row per published model and component, the best first."""
    rows = []
    for key, verdict in sorted(evaluation.passing.items(), key=lambda item: (item[0].output_type, item[1].mae)):
        figures = verdict.figures
        for component in figures["blocked"]:
            errors = [f"{figures[name][component].mae:.2f}" if name in figures else "–" for name in _PROTOCOLS]
            rows.append((key.output_type, key.trainer, component, *errors, f"{floor[component]:.2f}"))
    return rows


def noise_floor(truth: Path) -> dict[str, float]:
    """Return the error (W) that the simulated meter's own noise leaves to a perfect model, by component."""
    import pyarrow.parquet as pq

    noise = json.loads(pq.read_schema(truth).metadata[b"kepler_train.noise"])
    floor: dict[str, float] = noise["floor_watts"]
    return floor


def _stored(run: Run, step: str, name: str) -> bytes:
    """Return a file that a step of the run left."""
    content = run.store.read(f"{run.folder(step)}/{name}")
    if content is None:
        raise UserError(f"The run {run.name} has no {name} of the step {step}.")
    return content
