"""Frames that a user gives, CSV and Parquet: trained on, isolated and estimated.

The form is `<command>.<suffix>`.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from random import Random

import pandas as pd
from labelled_rows import SOURCE, labelled_rows

from fuzz.case import Case
from fuzz.commands import command
from fuzz.parquet_mutations import mutate_parquet
from fuzz.text_mutations import mutate_lines
from fuzz.trained import train_each

ALLOWED = ("programs",)  # saved models are read back by another process
_MODEL = "LinearRegressionTrainer"


def seeds(folder: Path) -> list[Case]:
    """Return frames of a node and of its containers; training takes longest, so estimates are most."""
    shutil.copytree(train_each(folder)[_MODEL], folder / "model")
    node = labelled_rows(count=24).rename(columns=lambda name: name.removeprefix(f"{SOURCE}/"))
    node.insert(0, "timestamp", node.pop("time").dt.as_unit("s").astype("int64"))
    containers = pd.concat([node.assign(id=f"c{number}", package_power=node["package_power"]) for number in (1, 2)])
    frames = [("estimate", node)] * 4 + [("isolate", containers), ("isolate", node), ("train", node)]
    return [
        Case(f"{name}.{suffix}", _written(frame, suffix)) for name, frame in frames for suffix in ("csv", "parquet")
    ]


def _written(frame: pd.DataFrame, suffix: str) -> bytes:
    out = io.BytesIO()
    if suffix == "csv":
        frame.to_csv(out, index=False)
    else:
        frame.to_parquet(out, index=False)
    return out.getvalue()


def mutate(case: Case, random: Random) -> Case:
    """Return a changed frame."""
    change = mutate_parquet if case.form.endswith(".parquet") else mutate_lines
    return Case(case.form, change(case.content, random))


def call(case: Case, seeds: Path, work: Path) -> None:
    """Give the frame to its command."""
    name, _, suffix = case.form.partition(".")
    frame = f"frame.{suffix}"
    (work / frame).write_bytes(case.content)
    if name == "estimate":
        command("estimate", "-m", str(seeds / "model"), "-i", frame, "-o", "estimated.csv")
    elif name == "isolate":
        command("isolate-from-data", "-i", frame, "-o", "isolated.parquet", "--isolator", "min")
    else:
        judged = ("--folds", "2", "--gate-mae", "1000", "--gate-limit", "10000")
        command("train-from-data", "-i", frame, "-p", "lab", "--trainers", _MODEL, "--node-type", "0", *judged)
        shutil.rmtree(work / "models")
