"""Isolate: idle power out of node power, and the rest shared among containers."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.events import say
from kepler_train.isolate.attribution import RULE, attribute
from kepler_train.isolate.isolators import isolate as remove_idle
from kepler_train.spec import RunSpec
from kepler_train.steps.extract import CONTAINERS, NODE
from kepler_train.workspace import Figures, Inputs

IDLE_POWER = "idle.json"


def attributed(group: str) -> str:
    """The file of container rows with their share of power, by the main feature of a group."""
    return f"containers_{group}.parquet"


def isolate(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Remove idle power from the frames of the run."""
    return isolate_frames(inputs.folder("extract"), spec, out)


def isolate_frames(extracted: Path, spec: RunSpec, out: Path) -> Figures:
    """Write the node frame with dynamic power, the idle power removed, and attributed rows by feature group."""
    dynamic, idle = remove_idle(pd.read_parquet(extracted / NODE), spec.isolator)
    dynamic.to_parquet(out / NODE, index=False)
    (out / IDLE_POWER).write_text(json.dumps(idle.to_dict("index"), indent=1), encoding="utf-8")
    for node, row in idle.iterrows():
        removed = ", ".join(f"{str(name).removesuffix('_power')} {watts:.2f} W" for name, watts in row.items())
        say(f"isolate: {spec.isolator} removes from {node}: {removed}")
    containers = pd.read_parquet(extracted / CONTAINERS)
    for group in spec.feature_groups:
        features = catalog().features_of(group, spec.thirdparty_metrics)
        rows = attribute(containers, dynamic, catalog().group(group), features)
        rows.to_parquet(out / attributed(group), index=False)
    return {"isolator": spec.isolator, "attribution": RULE, "rows": len(dynamic)}
