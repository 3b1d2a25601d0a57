"""Pages and pointers at a place where models are published: listed, exported, and fetched for a run.

The form is the name of a file there; `latest.json` is the pointer in a bucket.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from unittest.mock import patch

from fuzz.case import Case
from fuzz.commands import command
from fuzz.json_mutations import mutate_json
from fuzz.text_mutations import mutate_lines
from fuzz.trained import train_each
from kepler_train.model_key import Family
from kepler_train.plan import previous
from kepler_train.plan.background import keep_models
from kepler_train.plan.checkpoints import keep_checkpoints
from kepler_train.plan.previous import keep_previous
from kepler_train.publish import fetch, index
from kepler_train.publish.bucket import BucketTarget
from kepler_train.publish.index import BEGIN, END, list_pipeline
from kepler_train.publish.target import unless_older
from kepler_train.spec import RunSpec
from kepler_train.workspace.folder import FolderStore

_VERSION = "20261114T020000Z-0123456789abcdef"
_NOW = datetime(2026, 11, 15, tzinfo=UTC)
_FAMILY = Family("rapl-sysfs", "AbsPower", "BPFOnly")
_MODEL = f"{_FAMILY}/LinearRegressionTrainer_0"
_PLACES = {
    "README.md": "README.md",
    "page.md": ".doc/lab.md",
    "other.md": ".doc/other.md",
    "metadata.json": "lab/metadata.json",
    "train_arguments.json": "lab/train_arguments.json",
    "table.csv": "lab/rapl-sysfs_AbsPower_model_metadata.csv",
    "model_metadata.json": f"lab/{_MODEL}/metadata.json",
    "latest.json": "lab/latest.json",
}


def seeds(folder: Path) -> list[Case]:
    """Return the files of a place with two pipelines."""
    pipeline = {"name": "lab", "isolator": "min", "extractor": "default", "abs_trainers": ["LinearRegressionTrainer"]}
    pipeline |= {"dyn_trainers": [], "publisher": "me", "init_time": "2026-11-14T00:00:00Z"}
    pipeline |= {"last_update_time": "2026-11-14T02:30:00Z", "collect_time": "2026-11-13T22:00:00Z"}
    arguments = {"energy_sources": ["rapl-sysfs"], "output_types": ["AbsPower"], "machine_id": "m", "node_type": 0}
    arguments |= {"end": "2026-11-14T02:00:00Z"}
    table = "model_name,feature_group,mae,mape\nLinearRegressionTrainer_0,BPFOnly,2.5,4.26\n"
    model = folder / "db/lab" / _MODEL
    shutil.copytree(train_each(folder)["LinearRegressionTrainer"], model)
    contents = {
        "metadata.json": json.dumps(pipeline),
        "train_arguments.json": json.dumps(arguments),
        "table.csv": table,
        "model_metadata.json": (model / "metadata.json").read_text(),
        "latest.json": json.dumps({"version": _VERSION}),
        "README.md": f"# Ours\n\n{BEGIN}\n{END}\n\nMore.\n",
    }
    for form, content in contents.items():
        (folder / "db" / _PLACES[form]).write_text(content)
    list_pipeline(str(folder / "db"), "lab")
    contents["page.md"] = contents["other.md"] = (folder / "db" / _PLACES["page.md"]).read_text()
    (folder / "db" / _PLACES["other.md"]).write_text(contents["other.md"])
    return [Case(form, content.encode()) for form, content in contents.items()]


def mutate(case: Case, random: Random) -> Case:
    """Return a changed file."""
    if case.form.endswith(".json"):
        return Case(case.form, mutate_json(case.content, random))
    separator = "," if case.form == "table.csv" else random.choice("| ")
    return Case(case.form, mutate_lines(case.content, random, separator, [BEGIN, END, "../../escape_0"]))


def call(case: Case, seeds: Path, work: Path) -> None:
    """List the pipeline twice, keep its models for a run, and copy it into a database, also over a changed copy."""
    db = work / "db"
    shutil.copytree(seeds / "db", db)
    (db / _PLACES[case.form]).write_bytes(case.content)
    if case.form == "latest.json":
        shutil.copytree(seeds / "db/lab", db / "lab" / _VERSION)
        _follow_pointer(db, work)
        return
    list_pipeline(str(db), "lab")
    listed = (db / "README.md").read_bytes()
    list_pipeline(str(db), "lab")
    assert (db / "README.md").read_bytes() == listed
    _keep(db, work / "plan")
    with patch.dict("os.environ", MODEL_PATH=str(db)):
        command("export", "-p", "lab", "-o", str(work / "copy"))
    shutil.copytree(db / "lab", work / "theirs/v0.7/lab")  # a database that others write to
    with patch.dict("os.environ", MODEL_PATH=str(seeds / "db")):
        command("export", "-p", "lab", "-o", str(work / "theirs"))


def _follow_pointer(db: Path, work: Path) -> None:
    """Do what readers of a bucket do; a folder stands for it, as both have the same methods."""
    bucket = BucketTarget(FolderStore(db))
    with ExitStack() as patches:
        for reader in (fetch, index, previous):
            patches.enter_context(patch.object(reader, "open_target", return_value=bucket))
        list_pipeline(str(db), "lab")
        _keep(db, work / "plan")
    bucket.move_latest("lab", unless_older(_VERSION))


def _keep(db: Path, plan: Path) -> None:
    """Keep what later steps of a run are to see, as the plan does."""
    spec = RunSpec(
        pipeline="lab",
        output_types=["AbsPower"],
        abs_trainers=["SGDRegressorTrainer"],
        abs_pipeline="lab",
        continue_from="lab",
        start=_NOW,
        end=_NOW,
    )
    plan.mkdir()
    keep_previous(spec, str(db), plan)
    keep_checkpoints(spec, str(db), plan)
    keep_models(spec, str(db), plan / "background")
