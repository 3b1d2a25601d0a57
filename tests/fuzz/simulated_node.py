"""Samples of a small simulated node, as a query leaves them: two containers for ten minutes."""

from __future__ import annotations

from pathlib import Path

from simulated import write_node

from kepler_train.catalog import catalog
from kepler_train.samples.metrics import required_metrics
from kepler_train.spec import RunSpec

SAMPLES = "kepler_query"


def write_small_node(folder: Path) -> Path:
    """Write the metrics of one feature group; return the folder of samples."""
    write_node(folder, hours=1 / 6, containers=2, idle=120)
    required = required_metrics(RunSpec(feature_groups=["BPFOnly"]), "legacy")
    kept = {*required.metrics, *(name for names in required.names for name in names)}
    assert catalog().dialect("legacy")
    for file in (folder / SAMPLES).glob("*.parquet"):
        if file.stem not in kept:
            file.unlink()
    return folder / SAMPLES
