"""Isolation of many container rows: CPU time and peak memory of a child, profile made from the schedule's idle phases.

python bench/isolation.py [--windows 28800] [--containers 100]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.isolate.isolation import isolate_containers
from kepler_train.isolate.profiling import scheduled_profiles
from kepler_train.isolate.removal import remove_profile

FEATURES = ["bpf_cpu_time_ms", "bpf_page_cache_hit", "cache_miss", "cpu_cycles", "cpu_instructions"]
POWER = [f"rapl-sysfs/{name}_power" for name in ("package", "core", "uncore", "dram")]


def write_frames(folder: Path, windows: int, containers: int) -> pd.DataFrame:
    """Random work of so many containers in `containers.parquet`, a row group each; the node rows are returned."""
    random = np.random.default_rng(0)
    times = pd.date_range("2026-11-14", periods=windows, freq="15s", tz="UTC").as_unit("ms")
    workload = np.where(np.arange(windows) % 100 < 40, "idle", "cpu")
    node = pd.DataFrame({"time": times, "node": "a", "workload": workload, **dict.fromkeys(FEATURES, 0.0)})
    names = [("time", pa.array(times).type), ("node", pa.string()), ("container", pa.string())]
    schema = pa.schema([*names, *((name, pa.float64()) for name in FEATURES)])
    with pq.ParquetWriter(folder / "containers.parquet", schema, compression="zstd") as file:
        for number in range(containers):
            work = {name: random.exponential(5, windows) for name in FEATURES}
            for name, values in work.items():
                node[name] += values
            labels = {"time": times, "node": ["a"] * windows, "container": [f"{number:012x}/p/c-{number}/n"] * windows}
            file.write_table(pa.table(labels | work, schema=schema))
    return node.assign(**dict.fromkeys(POWER, 20 + 0.01 * node[FEATURES[0]]))


def peak_megabytes() -> float:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print one line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--windows", type=int, default=28_800)
    options.add_argument("--containers", type=int, default=100)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        node = write_frames(Path(folder), asked.windows, asked.containers)
        before, started = peak_megabytes(), time.process_time()
        file = Path(folder, "containers.parquet")
        removal = remove_profile(node, scheduled_profiles(node, [file], 0, {}))
        isolate_containers(node, [file], {"Basic": FEATURES}, removal, "proportional", Path(folder))
        used = time.process_time() - started
    millions = asked.windows * asked.containers / 1e6
    print(
        f"{millions:.1f} million container rows of Basic, four components: {used:.1f} CPU s ({used / millions:.1f} a"
        f" million), peak {peak_megabytes():.0f} MB ({before:.0f} MB before)"
    )


if __name__ == "__main__":
    main()
