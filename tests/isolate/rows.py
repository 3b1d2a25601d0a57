"""Frames made by hand, as extraction leaves them, and what isolation makes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from kepler_train.isolate.isolation import Isolated, attributed_file, isolate_containers
from kepler_train.isolate.removal import Removal

PACKAGE, DRAM = "rapl-sysfs/package_power", "rapl-sysfs/dram_power"
FEATURES = ["bpf_cpu_time_ms", "bpf_page_cache_hit"]


def node_rows(package: list[float], dram: list[float], node: str = "a", workload: str | list[str] = "") -> pd.DataFrame:
    """A row every 15 s; features are filled in by `with_work`."""
    times = pd.date_range("2026-11-14T00:00:15", periods=len(package), freq="15s", tz="UTC")
    return pd.DataFrame({"time": times, "node": node, "workload": workload, PACKAGE: package, DRAM: dram})


def container_rows(node: pd.DataFrame, name: str, cpu: list[float], hits: list[float] | None = None) -> pd.DataFrame:
    """A row per window in which the container ran."""
    return node[["time", "node"]].assign(container=name, bpf_cpu_time_ms=cpu, bpf_page_cache_hit=hits or cpu)


def with_work(node: pd.DataFrame, containers: pd.DataFrame) -> pd.DataFrame:
    """Node rows with the sum of their containers' features."""
    work = containers.groupby(["node", "time"], as_index=False)[FEATURES].sum()
    full = node.merge(work, on=["node", "time"], how="left").fillna(dict.fromkeys(FEATURES, 0.0))
    return full[["time", "node", "workload", *FEATURES, PACKAGE, DRAM]]


@contextmanager
def file_of(containers: pd.DataFrame) -> Iterator[Path]:
    """Container rows in a file, as extraction leaves them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "containers.parquet")
        containers.to_parquet(file, index=False)
        yield file


def isolated(
    node: pd.DataFrame, containers: pd.DataFrame, removal: Removal, rule: str = "main-feature"
) -> tuple[Isolated, pd.DataFrame]:
    """What isolation says of BPFOnly, and the container rows that it wrote."""
    with file_of(containers) as file:
        found = isolate_containers(node, [file], {"BPFOnly": FEATURES}, removal, rule, file.parent)
        return found["BPFOnly"], pd.read_parquet(file.with_name(attributed_file("BPFOnly")))
