"""Extract: counters of one query to training frames."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from kepler_train.collect.schedule import Schedule
from kepler_train.collect.verdict import find_collected_dialect
from kepler_train.events import say
from kepler_train.extract.frames import node_frames
from kepler_train.spec import RunSpec
from kepler_train.steps.machines import read_machines, write_machines
from kepler_train.steps.plan import run_schedule
from kepler_train.workspace import Figures, Inputs

NODE, CONTAINERS = "node.parquet", "containers.parquet"


def extract(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write the node frame and the container frame of the run."""
    write_machines(out, read_machines(inputs.folder("query")))
    return extract_samples(inputs.folder("query"), spec, run_schedule(inputs), out)


def extract_samples(samples: Path, spec: RunSpec, schedule: Schedule, out: Path) -> Figures:
    """Write both frames of a folder of samples."""
    frames = node_frames(samples, spec, find_collected_dialect(spec, samples), schedule)
    for name, own in frames.items():
        say(f"extract: {name}: {len(own.node)} rows, {own.dropped} windows dropped for gaps or resets")
    node = pd.concat([own.node for own in frames.values()], ignore_index=True)
    containers = pd.concat([own.containers for own in frames.values()], ignore_index=True)
    node.to_parquet(out / NODE, index=False)
    containers.to_parquet(out / CONTAINERS, index=False)
    return {
        "nodes": len(frames),
        "rows": len(node),
        "container_rows": len(containers),
        "dropped": sum(own.dropped for own in frames.values()),
    }
