"""The truth as Parquet: the real power of every node and every container."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.simulate.machine import COMPONENTS
from kepler_train.simulate.meter import noise_deviation, noise_floor
from kepler_train.simulate.node import ContainerRun, NodeRun
from kepler_train.simulate.whole_files import replacing

NOISE_KEY = b"kepler_train.noise"


def write_node_truth(path: Path, runs: Sequence[NodeRun]) -> int:
    """Write one row per node and scrape interval, at its end, with mean power (W); return the rows."""
    machine, tick = runs[0].machine, runs[0].tick
    noise = {
        "interval_seconds": tick,
        "floor_watts": noise_floor(machine, tick),
        "deviation_watts": {name: noise_deviation(name, machine, tick) for name in COMPONENTS},
    }
    return _write(path, [_node_table(run) for run in runs], {NOISE_KEY: json.dumps(noise).encode()})


def write_container_truth(path: Path, runs: Sequence[NodeRun]) -> int:
    """Write one row per container and scrape interval of its life with its true dynamic power (W)."""
    return _write(path, [_container_table(run, done) for run in runs for done in run.containers], {})


def _node_table(run: NodeRun) -> pa.Table:
    lengths = [phase.last - phase.first for phase in run.phases]

    def per_tick(values: list[str] | list[int]) -> pa.Array:
        picks = pa.array(np.repeat(np.arange(len(values), dtype=np.int32), lengths))
        return pa.DictionaryArray.from_arrays(picks, pa.array(values)).dictionary_decode()

    columns = {
        "time": _times(run.edges[1:]),
        "node": pa.array([run.name] * len(run.frequency_mhz)),
        "phase": per_tick([phase.name for phase in run.phases]),
        "load": per_tick([phase.load for phase in run.phases]),
        "instances": per_tick([phase.instances for phase in run.phases]),
        "frequency_mhz": run.frequency_mhz,
        "busy_cores": run.busy,
    }
    for name in COMPONENTS:
        columns[f"{name}_watts"] = run.true_watts(name)
        columns[f"{name}_idle_watts"] = np.full(len(run.busy), run.machine.idle(name))
        columns[f"{name}_metered_watts"] = run.metered_watts(name)
    return pa.table(columns)


def _container_table(run: NodeRun, container_run: ContainerRun) -> pa.Table:
    container = container_run.container
    length = container.last - container.first
    columns = {
        "time": _times(run.edges[container.first + 1 : container.last + 1]),
        "node": pa.array([run.name] * length),
        "container": pa.array([container.key] * length),
        "load": pa.array([container.workload.name] * length),
    }
    return pa.table(columns | {f"{name}_dynamic_watts": watts for name, watts in container_run.watts.items()})


def _times(seconds: np.ndarray) -> pa.Array:
    return pa.array(np.round(seconds * 1000).astype("int64"), pa.timestamp("ms", tz="UTC"))


def _write(path: Path, tables: list[pa.Table], metadata: dict[bytes, bytes]) -> int:
    table = pa.concat_tables(tables)
    with replacing(path) as beside:
        pq.write_table(table.replace_schema_metadata(metadata), beside, compression="zstd")
    return int(table.num_rows)
