"""Pages and pointers at a place where models are published: listed, exported, and fetched for a run.

The form is the name of a file there; `latest.json` is the pointer in a bucket, `profile.json` the background profile in
a workspace, and `keys.json` has the names of more objects in a bucket, which may be such as no folder has.
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
from kepler_train import strict_json
from kepler_train.isolate.background import promote_profile, read_known_background
from kepler_train.isolate.profile import PROFILES, profile_name
from kepler_train.machine.choice import RunNodeType
from kepler_train.machine.node_attributes import NodeAttributes
from kepler_train.model_key import Family
from kepler_train.models.sums import SUMS, write_sums
from kepler_train.plan import previous
from kepler_train.plan.background import keep_known, keep_models
from kepler_train.plan.checkpoints import keep_checkpoints
from kepler_train.plan.previous import keep_previous
from kepler_train.publish import fetch, index
from kepler_train.publish.bucket import BucketTarget
from kepler_train.publish.index import BEGIN, END, list_pipeline
from kepler_train.publish.target import unless_older
from kepler_train.spec import RunSpec
from kepler_train.workspace.folder import FolderStore
from kepler_train.workspace.keys import below, usable_names

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
    "model_sums": f"lab/{_MODEL}/{SUMS}",
    "latest.json": "lab/latest.json",
    "profile.json": f"{PROFILES}/{profile_name(0)}",
    "keys.json": "lab/keys.json",
}
_PROFILE = {
    "node_type": 0,
    "node": "n",
    "machine": {"processor": "x", "cores": 4},
    "chosen": "query",
    "rows": 90,
    "start": "2026-11-14T00:00:00Z",
    "end": "2026-11-14T01:00:00Z",
    "window_seconds": 15.0,
    "power": {"rapl-sysfs/package_power": {"mean": 30.0, "median": 30.0, "deviation": 1.5}},
    "usage": {"bpf_cpu_time_ms": 12.5},
    "containers": {"c1/kubelet/kubelet/system": {"bpf_cpu_time_ms": 2.5}},
}
_KEYS = ["rapl-sysfs/AbsPower/Basic/Linear_0/metadata.json", f"{_MODEL}/more.json", "README.md/x", "report.html"]


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
    about = json.loads((model / "metadata.json").read_text()) | {"mae": 2.5, "mape": 4.26}  # which passes the gate
    (model / "metadata.json").write_text(json.dumps(about))
    write_sums(model, changed=("metadata.json",))
    contents = {
        "metadata.json": json.dumps(pipeline),
        "train_arguments.json": json.dumps(arguments),
        "table.csv": table,
        "model_metadata.json": (model / "metadata.json").read_text(),
        "model_sums": (model / SUMS).read_text(),
        "latest.json": json.dumps({"version": _VERSION}),
        "profile.json": json.dumps(_PROFILE),
        "keys.json": json.dumps(_KEYS),
        "README.md": f"# Ours\n\n{BEGIN}\n{END}\n\nMore.\n",
    }
    (folder / "db" / PROFILES).mkdir()
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
    if case.form == "model_metadata.json":  # get past the sums
        write_sums(db / "lab" / _MODEL)
    if case.form == "profile.json":
        _use_profile(db, work / "plan")
        return
    if case.form == "keys.json":
        _fetch_from(_Bucket(db, case.content), work / "plan")
        return
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


class _Bucket(FolderStore):
    """A folder that stands for a bucket with more objects, each of four bytes."""

    def __init__(self, root: Path, keys: bytes) -> None:
        super().__init__(root)
        names = strict_json.read(keys, "keys.json")
        self._more = [f"lab/{name}" for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def sizes(self, prefix: str, recheck: bool = True) -> dict[str, int]:
        more = {key: 4 for key in self._more if key.startswith(f"{prefix}/")}
        return super().sizes(prefix, recheck) | more

    def download(self, key: str, folder: Path) -> Path:
        if key not in self._more:
            return super().download(key, folder)
        target = below(folder, key)
        with usable_names(self.uri, key):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"more")
        return target


def _fetch_from(bucket: _Bucket, plan: Path) -> None:
    """Keep models from a bucket, as the plan does."""
    with ExitStack() as patches:
        for reader in (fetch, previous):
            patches.enter_context(patch.object(reader, "open_store", return_value=bucket))
        _keep(bucket.root, plan)


def _use_profile(db: Path, plan: Path) -> None:
    """Keep the profile of a workspace for a run, and merge it with that of another."""
    plan.mkdir()
    store = FolderStore(db)
    spec = RunSpec(pipeline="lab", output_types=["DynPower"], isolator="profile", start=_NOW, end=_NOW)
    keep_known(spec, store, str(db), plan)
    read_known_background(plan, spec, RunNodeType(number=0, attrs=NodeAttributes(), members=["m"]))
    promote_profile(json.dumps(_PROFILE).encode(), store)


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
