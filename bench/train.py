"""What training costs, beside the earlier system: kepler-model-server 0.7.12 on the same recording.

The recording is that of ../shared/tools/gen_prom.py, 200 containers × 2,400 steps of 3 s: two energy sources, five
feature groups, the ten trainers, AbsPower and DynPower, which are 200 models of 500 components. The first figure is
that of all protocols. The earlier system judges each model on one tenth of the rows, drawn at random; the second figure
does the same. The third also leaves out what the earlier system's training does not do: to read every format again in
another process and compare it with the model on all rows, and to write cards and pictures (its own pictures are another
command of 9 s). It is the one that is held against 705 s. CPU time is that of the whole command with its children, as
users have it: without pytest, which scikit-learn imports where it is installed.

python bench/train.py
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GENERATOR = Path(__file__).resolve().parents[2] / "shared" / "tools" / "gen_prom.py"
TRAINERS = [
    "SGDRegressorTrainer",
    "LinearRegressionTrainer",
    "PolynomialRegressionTrainer",
    "KNeighborsRegressorTrainer",
    "SVRRegressorTrainer",
    "GradientBoostingRegressorTrainer",
    "XgboostFitTrainer",
    "LogarithmicRegressionTrainer",
    "LogisticRegressionTrainer",
    "ExponentialRegressionTrainer",
]
GROUPS = ["BPFIRQ", "BPFOnly", "Basic", "CounterIRQCombined", "CounterOnly"]
EARLIER_SECONDS, EARLIER_MEGABYTES = 705.0, 1600.0

EVERYTHING = """
from kepler_train.cli import main
main()
"""
# One random tenth stands for all protocols.
ONE_TENTH = (
    """
import numpy as np
from kepler_train.train import held_out
from kepler_train.evaluate.protocols import Protocol, Split
def one_tenth(frame, folds, seed, lags=0):
    parts = np.array_split(np.random.default_rng(seed).permutation(len(frame)), 10)
    return [Split(tuple(Protocol), np.sort(np.concatenate(parts[1:])), np.sort(parts[0]))]
held_out.all_splits = one_tenth
"""
    + EVERYTHING
)


NOTHING_MORE = (
    """
from kepler_train.export import layout, step
from kepler_train.models import artifact, parity
artifact.check_parity = lambda *_: parity.Parity({}, {})
layout.write_card = step.draw_pictures = step.write_html_report = lambda *_: None
"""
    + ONE_TENTH
)


def recording(folder: Path) -> None:
    """`kepler_query/`, the samples of the recording."""
    from kepler_train.samples.kepler_query_json import import_json

    file, samples = folder / "recording.json", folder / "kepler_query"
    samples.mkdir()
    make = [sys.executable, str(GENERATOR), "-n", "200", "-t", "2400", "-o", str(file)]
    subprocess.run(make, check=True, capture_output=True)
    import_json(file, samples)
    file.unlink()


def command(program: str, folder: Path) -> tuple[float, float, float]:
    """CPU time (s) of `kepler-train train` and its children, its wall time (s), and the peak of the largest (MB)."""
    trainers = ",".join(TRAINERS)
    options = ["-p", "bench", "-e", "rapl-sysfs,acpi", "-fg", ",".join(GROUPS)]
    arguments = ["train", *options, "--abs-trainers", trainers, "--dyn-trainers", trainers]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    absent = folder / "absent"
    absent.mkdir(exist_ok=True)
    (absent / "pytest.py").write_text("raise ImportError('not installed')")
    # Models that do not pass end the command with 3, which is no failure of the bench.
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(absent)},
        capture_output=True,
        text=True,
    )
    if ended.returncode not in (0, 3):
        raise SystemExit(ended.stderr)
    print(f"   {ended.stdout.splitlines()[-1] if ended.stdout else ''}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, time.monotonic() - began, after.ru_maxrss / 1024


def line(name: str, figure: float, unit: str, earlier: float, limit: float | None = None) -> None:
    """One line of the table: ours, the earlier system's, how many times less, and the limit where there is one."""
    verdict = "" if limit is None else f" {limit:8.0f} {'kept' if figure <= limit else 'BROKEN'}"
    print(f"{name:<44} {figure:8.1f} {unit:<2} {earlier:8.0f} {unit:<2} {earlier / figure:6.1f} ×{verdict}")


def main() -> None:
    """Print one row per figure."""
    if not GENERATOR.exists():
        print("Left out: ../shared/tools/gen_prom.py, which makes the recording, is not there.")
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recording(folder)
        print(f"load {os.getloadavg()[0]:.1f}{'ours':>45} {'earlier':>11} {'limit':>18}")
        cpu, wall, peak = command(EVERYTHING, folder)
        line("complete training, all protocols", cpu, "s", EARLIER_SECONDS, EARLIER_SECONDS / 5)
        line("   peak memory", peak, "MB", EARLIER_MEGABYTES, 500)
        print(f"   wall time {wall:.0f} s")
        cpu, _, _ = command(ONE_TENTH, folder)
        line("complete training, one random tenth", cpu, "s", EARLIER_SECONDS)
        cpu, _, _ = command(NOTHING_MORE, folder)
        line("   without check, cards and pictures", cpu, "s", EARLIER_SECONDS, EARLIER_SECONDS / 20)


if __name__ == "__main__":
    main()
