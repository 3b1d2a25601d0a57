"""What a kepler_query.json of 200 containers × 2400 steps costs to turn into Parquet, each time in a new process.

The limits are an eighth of the CPU and a quarter of the memory that the earlier system took for the same file
(9.1 s to load it and make frames of it, 1,426 MB). The plain reader of JSON is there for scale: it keeps nothing.

python bench/exchange.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5
GENERATOR = Path(__file__).resolve().parents[2] / "shared" / "tools" / "gen_prom.py"
EARLIER_CPU, EARLIER_MB = 9.1, 1426
PLAIN = "import json, sys; json.load(open(sys.argv[1])); began = 0"
OURS = """
import sys, time
from pathlib import Path
from kepler_train.samples.kepler_query_json import import_json
began = time.process_time()
import_json(Path(sys.argv[1]), Path(sys.argv[2]))
"""
FIGURES = """
import resource, time
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, time.process_time() - began, used.ru_maxrss / 1024)
"""


def measure(program: str, file: Path, out: Path) -> list[float]:
    """CPU of the whole process (s), of the call (s), and peak memory (MB): the least of each, others only add."""
    runs = []
    for _ in range(RUNS):
        command = [sys.executable, "-c", program + FIGURES, str(file), str(out)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs.append([float(word) for word in said.split()])
    return [min(figures) for figures in zip(*runs, strict=True)]


def row(name: str, figure: float, limit: float, unit: str) -> None:
    """One line of the table, with how many times less than the earlier system."""
    earlier = EARLIER_CPU if unit == "s" else EARLIER_MB
    verdict = "kept" if figure <= limit else "BROKEN"
    print(f"{name:<34} {figure:8.2f} {unit:<2} {earlier / figure:6.1f} × less {limit:8.2f} {unit:<2}  {verdict}")


def main() -> None:
    """Print one row per figure."""
    if not GENERATOR.exists():
        print("Left out: ../shared/tools/gen_prom.py, which makes the file, is not there.")
        return
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "kepler_query.json"), Path(folder, "out")
        out.mkdir()
        make = [sys.executable, str(GENERATOR), "-n", "200", "-t", "2400", "-o", str(file)]
        subprocess.run(make, check=True, capture_output=True)
        plain, _, plain_mb = measure(PLAIN, file, out)
        whole, call, peak = measure(OURS, file, out)
        print(
            f"{file.stat().st_size / 1e6:.0f} MB of JSON, {sum(f.stat().st_size for f in out.iterdir()) / 1e6:.0f} MB"
            f" of Parquet   (least of {RUNS}, load {os.getloadavg()[0]:.1f})"
        )
        print(f"{'json.load alone':<34} {plain:8.2f} s  {plain_mb:6.0f} MB")
        row("import_json, CPU of the process", whole, EARLIER_CPU / 8, "s")
        row("import_json, CPU of the call", call, EARLIER_CPU / 8, "s")
        row("import_json, peak memory", peak, EARLIER_MB / 4, "MB")


if __name__ == "__main__":
    main()
