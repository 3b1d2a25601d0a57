"""Peak memory of the everyday commands on a week of a node with 300 containers, scraped every 15 s.

Every command runs as users run it, in a process of its own; its memory is resident memory of the whole process tree.
`largest` is the peak of its largest process, `together` the peak of the sum over processes that live at the same time,
seen every 20 ms: pages that processes share count for each. Exit code 1 says that a command failed, or took more than
1 GB.

About 24 million samples are made in a temporary folder, some 200 MB; the commands write ten times as much.

Commands that read a frame of container rows hold it in memory as a whole. `--frames` measures them too, with no limit.

python bench/memory.py [--days 7] [--containers 300] [--frames] [--only train --only estimate] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LIMIT = 1_000_000_000  # bytes
START, SCRAPE, CHUNK = 1_794_614_400, 15, 6 * 3600  # s
INTERVAL = 0.02  # s between looks at the processes
PROGRAM = str(Path(sys.executable).with_name("kepler-train"))
TRAINERS = "LinearRegressionTrainer,XgboostFitTrainer,KNeighborsRegressorTrainer"
CPU_TIME, PAGE_CACHE = "kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total"
# Energy of a meter: idle power (W), joules per ms of CPU time and per page that was found in the cache.
METERS = {"package": (30.0, 2e-3, 1e-5), "core": (10.0, 1.5e-3, 0.0), "dram": (5.0, 1e-4, 4e-5)}
PIPELINE, MODEL = "week", "week/rapl-sysfs/{output}/BPFOnly/LinearRegressionTrainer_0"

COMMANDS = {
    "validate": ["validate"],
    "extract -ot AbsPower": ["extract", "-ot", "AbsPower", "-o", "nodes"],
    "extract -ot DynPower": ["extract", "-ot", "DynPower", "-o", "containers"],
    "isolate": ["isolate", "-o", "isolated"],
    "train": ["train", "-p", PIPELINE, "--abs-trainers", TRAINERS, "--dyn-trainers", TRAINERS],
    "estimate, AbsPower of a query": ["estimate", "-m", MODEL.format(output="AbsPower"), "-o", "estimated-nodes"],
    "estimate, DynPower of a query": ["estimate", "-m", MODEL.format(output="DynPower"), "-o", "estimated"],
}
OF_FRAMES = {
    "estimate, DynPower of a frame": [
        *("estimate", "-m", MODEL.format(output="DynPower")),
        *("-i", "isolated", "-o", "estimated-frame"),
    ],
    "isolate-from-data": ["isolate-from-data", "-i", "containers", "-o", "isolated-frame"],
    "train-from-data -ot DynPower": [
        *("train-from-data", "-i", "isolated", "-p", "frame", "-ot", "DynPower"),
        *("--trainers", TRAINERS),
    ],
}


@dataclass(frozen=True)
class Usage:
    """What a command used: bytes of its largest process and of all together, CPU and wall time (s), its exit code."""

    largest: int
    together: int
    cpu: float
    wall: float
    ended: int
    last_line: str

    def keeps(self, limit: int | None) -> bool:
        """Tell whether the command did its work within a limit (bytes)."""
        return self.ended == 0 and (limit is None or max(self.largest, self.together) <= limit)


def write_week(folder: Path, days: float, containers: int) -> None:
    """Write counters of a node and its containers as a query writes them: a chunk of time after the other."""
    from kepler_train.samples.decoding import DecodedSeries
    from kepler_train.samples.parquet import schema, table, writer

    chance = np.random.default_rng(1)
    names = ("container_id", "pod_name", "container_name", "container_namespace")
    labels = [{"instance": "n"} | {name: f"{name}-{number:032x}" for name in names} for number in range(containers)]
    meter = {"instance": "n", "source": "rapl-sysfs", "package": "0"}
    series = {CPU_TIME: labels, PAGE_CACHE: labels} | {
        f"kepler_node_{component}_joules_total": [meter | {"mode": mode} for mode in ("idle", "dynamic")]
        for component in METERS
    }
    files = {metric: writer(folder, schema(metric, own[0])) for metric, own in series.items()}
    reached = {metric: np.zeros(len(own)) for metric, own in series.items()}
    for begin in range(0, round(days * 86400), CHUNK):
        times = 1000 * np.arange(START + begin, START + begin + CHUNK, SCRAPE, dtype=np.int64)
        # Hours of high, middle and hardly any load; the share of a container changes from scrape to scrape.
        load = np.array([1.0, 0.5, 0.001])[times // 3_600_000 % 3]
        size = containers, len(times)
        work = {
            CPU_TIME: load * chance.exponential(20_000 / containers * SCRAPE, size),  # ms of 20 cores
            PAGE_CACHE: load * chance.exponential(500_000 / containers * SCRAPE, size),
        }
        gains = dict(work)
        for component, (idle, per_ms, per_page) in METERS.items():
            dynamic = per_ms * work[CPU_TIME].sum(axis=0) + per_page * work[PAGE_CACHE].sum(axis=0)
            gains[f"kepler_node_{component}_joules_total"] = np.stack([np.full(len(times), idle * SCRAPE), dynamic])
        for metric, own in series.items():
            values = reached[metric][:, None] + np.cumsum(np.rint(gains[metric]), axis=1)
            reached[metric] = values[:, -1]
            decoded = [DecodedSeries(*one) for one in zip(own, [times] * len(own), values, strict=True)]
            files[metric].write_table(table(decoded, files[metric].schema))
    for file in files.values():
        file.close()


def tree(root: int) -> Iterator[int]:
    """Yield a process and all processes that it started, directly or not."""
    yield root
    try:
        for thread in Path(f"/proc/{root}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from tree(int(child))
    except OSError:  # it has ended meanwhile
        return


def resident(process: int) -> int:
    """Return the resident memory of a process (bytes); 0 of one that has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def run(arguments: list[str], folder: Path) -> Usage:
    """Run a command in the folder of the data, and watch it."""
    environment = os.environ | {"DATAPATH": str(folder), "MODEL_PATH": str(folder / "models"), "TMPDIR": str(folder)}
    together, done = 0, threading.Event()
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        child = subprocess.Popen([PROGRAM, *arguments], env=environment, stdout=output, stderr=subprocess.STDOUT)

        def watch() -> None:
            nonlocal together
            while not done.wait(INTERVAL):
                together = max(together, sum(map(resident, tree(child.pid))))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        done.set()
        watcher.join()
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    largest = used.ru_maxrss * 1024
    cpu = used.ru_utime + used.ru_stime
    return Usage(largest, max(largest, together), cpu, wall, child.returncode, lines[-1] if lines else "")


def row(command: str, used: Usage, limit: int | None, kept: bool) -> str:
    """Return one line of the table."""
    figures = f"{used.largest / 1e6:7.0f} MB {used.together / 1e6:8.0f} MB"
    verdict = "kept" if kept else "BROKEN"
    judged = f"{limit / 1e6:7.0f} MB {verdict:<8}" if limit else f"{'none':>10} {'' if kept else verdict:<8}"
    return f"{command:<32} {figures} {judged} {used.cpu:6.0f} s {used.wall:6.0f} s"


def main() -> int:
    """Print a row per command; return 1 where one failed or took more than the limit."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--days", type=float, default=7.0)
    options.add_argument("--containers", type=int, default=300)
    options.add_argument("--frames", action="store_true", help="also commands that read a frame of these rows")
    options.add_argument("--only", action="append", help="commands that begin so; may be repeated")
    options.add_argument("--keep", type=Path, help="folder for the data, used again where it has them")
    chosen = options.parse_args()
    within = True
    with nullcontext(chosen.keep) if chosen.keep else tempfile.TemporaryDirectory() as name:
        samples = Path(name, "kepler_query")
        if not samples.exists():
            samples.mkdir(parents=True)
            write_week(samples, chosen.days, chosen.containers)
        print(f"{chosen.containers} containers, {chosen.days:g} days, load {os.getloadavg()[0]:.1f}")
        print(f"{'command':<32} {'largest':>10} {'together':>11} {'limit':>10} {'':<8} {'CPU':>8} {'wall':>8}")
        limits = dict.fromkeys(COMMANDS, LIMIT) | (dict.fromkeys(OF_FRAMES) if chosen.frames else {})
        for command, limit in limits.items():
            if chosen.only and not command.startswith(tuple(chosen.only)):
                continue
            used = run((COMMANDS | OF_FRAMES)[command], Path(name))
            kept = used.keeps(limit)
            print(row(command, used, limit, kept), flush=True)
            if used.ended:
                print(f"   ended with {used.ended}: {used.last_line}", flush=True)
            within = within and kept
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
