"""What extraction costs, beside the earlier system: kepler-model-server 0.7.12 on the same recordings.

Recordings are those of ../shared/tools/gen_prom.py, containers × steps of 3 s. Every figure is the least of several
runs, each in a new process. `--days 30` also extracts that many days of a node with 300 containers, scraped every 15 s,
two features of 51.8 million samples each in 30 days: about four minutes.

python bench/extract.py [--days 30]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

GENERATOR = Path(__file__).resolve().parents[2] / "shared" / "tools" / "gen_prom.py"
RUNS = 5
START, SCRAPE, CONTAINERS, CHUNK = 1_794_614_400, 15, 300, 6 * 3600  # s
MONTH = ("kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total")

HEAD = """
import resource, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
"""
# The earlier figure begins with the answer in memory: so does this, with the samples of every series.
IN_PROCESS = """
import pyarrow as pa
from kepler_train.samples.parquet import MetricFile
from kepler_train.samples.schedule import Schedule
from kepler_train.extract.node_extraction import extractions
from kepler_train.spec import RunSpec
spec = RunSpec(energy_sources=["rapl-sysfs", "acpi"], feature_groups=["Basic"])
read, kept = MetricFile.read, {}
def from_memory(file, wanted):
    key = file.metric, tuple(wanted)
    if key not in kept:
        kept[key] = read(file, wanted)
    return kept[key]
def seconds():
    began = time.process_time()
    for node in extractions(folder, spec, "legacy", Schedule()):
        node.node().to_pandas(), pa.concat_tables(node.containers()).unify_dictionaries().to_pandas()
    return time.process_time() - began
seconds()
with_reading = min(seconds() for _ in range(5))
MetricFile.read = from_memory
seconds()
print(min(seconds() for _ in range(5)), with_reading)
"""
EVERY_GROUP = """
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.extract.step import extract_samples
groups = ["BPFIRQ", "BPFOnly", "Basic", "CounterIRQCombined", "CounterOnly", "Full", "IRQOnly", "WorkloadOnly"]
spec = RunSpec(energy_sources=["rapl-sysfs", "acpi"], feature_groups=groups)
figures = extract_samples(folder, spec, Schedule(), Path(sys.argv[2]))
"""
FROM_JSON = """
from kepler_train.samples.kepler_query_json import import_json
import_json(Path(sys.argv[3]), folder)
"""
A_MONTH = EVERY_GROUP.replace('"rapl-sysfs", "acpi"', '"rapl-sysfs"').replace("feature_groups=groups", "")
FIGURES = """
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, figures["container_rows"])
"""


def measure(program: str, *arguments: Path, runs: int = RUNS) -> list[float]:
    """What the program prints last, the least of several runs: others on the machine only add."""
    found = []
    for _ in range(runs):
        command = [sys.executable, "-c", HEAD + program, *map(str, arguments)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found.append([float(word) for word in said.splitlines()[-1].split()])
    return [min(figures) for figures in zip(*found, strict=True)]


def row(name: str, figure: float, unit: str, earlier: float | None, limit: float | None = None) -> None:
    """One line of the table: ours, the earlier system's, how many times less, and the limit."""
    times = f"{earlier:8.1f} {unit:<2} {earlier / figure:6.0f} ×" if earlier else " " * 20
    verdict = f"{limit:8.2f} {unit:<2} {'kept' if figure <= limit else 'BROKEN'}" if limit else ""
    print(f"{name:<46} {figure:8.2f} {unit:<2} {times} {verdict}")


def recording(folder: Path, containers: int, steps: int) -> tuple[Path, Path]:
    """A kepler_query.json, and its samples as Parquet."""
    from kepler_train.samples.kepler_query_json import import_json

    file, samples = folder / f"{containers}x{steps}.json", folder / f"{containers}x{steps}"
    samples.mkdir()
    make = [sys.executable, GENERATOR, "-n", containers, "-t", steps, "-o", file]
    subprocess.run([str(word) for word in make], check=True, capture_output=True)
    import_json(file, samples)
    return file, samples


def long_recording(folder: Path, days: float) -> None:
    """Counters of a node and its containers, written as a query writes them: a chunk of time after the other."""
    from kepler_train.samples.decoding import DecodedSeries
    from kepler_train.samples.parquet import schema, table, writer

    chance = np.random.default_rng(1)
    names = ("container_id", "pod_name", "container_name", "container_namespace")
    containers = [{"instance": "n"} | {name: f"{name}-{one:032x}" for name in names} for one in range(CONTAINERS)]
    meter = {"instance": "n", "source": "rapl-sysfs", "package": "0"}
    energy = ("kepler_node_package_joules_total", [meter | {"mode": mode} for mode in ("idle", "dynamic")])
    for metric, labels in (energy, *((metric, containers) for metric in MONTH)):
        columns, reached = schema(metric, labels[0]), np.zeros(len(labels))
        with writer(folder, columns) as file:
            for begin in range(0, round(days * 86400), CHUNK):
                times = 1000 * np.arange(START + begin, START + begin + CHUNK, SCRAPE, dtype=np.int64)
                gains = chance.integers(1, 15_000, (len(labels), len(times)))
                values = reached[:, None] + np.cumsum(gains, axis=1)
                reached = values[:, -1]
                file.write_table(
                    table(
                        [DecodedSeries(*one) for one in zip(labels, [times] * len(labels), values, strict=True)],
                        columns,
                    )
                )


def main() -> None:
    """Print one row per figure."""
    options = argparse.ArgumentParser()
    options.add_argument("--days", type=float, default=0.0, help="also extract this many days of 300 containers")
    days = options.parse_args().days
    if not GENERATOR.exists():
        print("Left out: ../shared/tools/gen_prom.py, which makes the recordings, is not there.")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = folder / "out"
        out.mkdir()
        print(f"least of {RUNS}, load {os.getloadavg()[0]:.1f}{'ours':>24} {'earlier':>13} {'limit':>21}")
        file, samples = recording(folder, 200, 2400)
        alone, reading = measure(IN_PROCESS, samples)
        row("Basic, in process, 200×2400", alone, "s", 35.9, 0.12)
        row("   with reading Parquet", reading, "s", 35.9)
        cpu, peak, _ = measure(EVERY_GROUP + FIGURES, samples, out)
        row("all groups, whole process, from Parquet", cpu, "s", 28.1, 1.4)
        row("   peak memory", peak, "MB", 1426, 285)
        fresh = folder / "fresh"
        fresh.mkdir()
        from_json, peak, _ = measure(FROM_JSON + EVERY_GROUP + FIGURES, fresh, out, file)
        row("all groups, whole process, from JSON", from_json, "s", 28.1, 3)
        row("   peak memory", peak, "MB", 1426)
        file.unlink()
        file, samples = recording(folder, 500, 4800)
        large, peak, _ = measure(EVERY_GROUP + FIGURES, samples, out)
        row("all groups, 500×4800, from Parquet", large, "s", 179)
        row("   peak memory", peak, "MB", 6314)
        row("   CPU / that of 200×2400", large / cpu, "", 179 / 28.1, 6)
        file.unlink()
        if days:
            month = folder / "month"
            month.mkdir()
            long_recording(month, days)
            cpu, peak, rows = measure(A_MONTH + FIGURES, month, out, runs=1)
            row(f"{days:g} days, 300 containers, {rows:,.0f} rows", cpu, "s", None)
            row("   peak memory", peak, "MB", None, 1500)


if __name__ == "__main__":
    main()
