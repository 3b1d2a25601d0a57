"""A run of every step, on a folder or on the real S3 server, and what it must leave."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from children import Place, Undisturbed, measured, run

from kepler_train.errors import UserError
from kepler_train.local.seaweedfs import SeaweedServer
from kepler_train.publish.pull import fetch_verified
from kepler_train.publish.sums import SUMS
from kepler_train.publish.target import open_target
from kepler_train.simulate.history import exported, write_schedule
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import store_of
from kepler_train.workspace import FileStore, Run, open_store

START = 1_794_614_400.0  # 2026-11-14T00:00:00Z
HOURS = ("2026-11-14T00:00:00Z", "2026-11-14T01:00:00Z", "2026-11-14T02:00:00Z")
NOW = "2026-11-14T12:00:00Z"
KINDS = ("folder", "S3")
BUCKET = "lab"
MODELS = [f"rapl-sysfs/{output}/BPFOnly/LinearRegressionTrainer" for output in ("AbsPower", "DynPower")]
STEPS = [
    *((name, "") for name in ("plan", "query", "validate", "extract", "isolate")),
    *(("train", model) for model in MODELS),
    *((name, "") for name in ("evaluate", "export", "publish")),
]

# When a pipeline was trained and exported, and the column and line of it in the list of pipelines.
_TIMES = re.compile(
    r'"(init|last_update|export)_time": "[^"]*"|(?<=UTC \| )\S+ \S+ UTC(?= \| )|(?<=\*\*Trained:\*\* ).*'
)
_VERSION = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{32}")

Files = dict[str, str]  # SHA-256 by key
_WITH_TIMES = {"manifest.json", "published.json", "latest.json", "versions.json", "index.json"}


@dataclass(frozen=True)
class Lab:
    """The servers, and the folder that everything is in."""

    folder: Path
    prometheus: str
    s3: SeaweedServer

    def place(self, name: str) -> Place:
        """Return a new folder to run commands in."""
        return Place.made(self.folder / name, **self.s3.client_environment())

    def workspace(self, kind: str, name: str) -> str:
        """Return the address of a workspace: a folder, or a prefix of the bucket."""
        return f"s3://{BUCKET}/{name}" if kind == "S3" else str(self.folder / name / "workspace")

    def run(self, workspace: str, name: str = "lab/1", hour: int = 0) -> StepsOf:
        """Return a run of one hour, of which no step has been done."""
        pipeline = name.partition("/")[0]
        spec = self.folder / f"{pipeline}-{hour}.json"
        spec.write_text(json.dumps(self._spec(pipeline, hour)), encoding="utf-8")
        return StepsOf(workspace, name, spec)

    def _spec(self, pipeline: str, hour: int) -> dict[str, object]:
        return {
            "pipeline": pipeline,
            "prometheus": self.prometheus,
            "schedule": str(self.folder / "schedule.json"),
            "start": HOURS[hour],
            "end": HOURS[hour + 1],
            "feature_groups": ["BPFOnly"],
            "abs_trainers": ["LinearRegressionTrainer"],
            "dyn_trainers": ["LinearRegressionTrainer"],
            "folds": 2,
            "gate_mae": 40,
            "gate_limit": 1000,
        }


@dataclass(frozen=True)
class StepsOf:
    """A run by the commands of its steps, and the files that it leaves."""

    workspace: str
    name: str
    spec: Path

    @property
    def store(self) -> FileStore:
        """Return a fresh connection to the workspace."""
        return open_store(self.workspace)

    def command(self, step: str, part: str = "", force: bool = False) -> list[str]:
        """Return the words of `kepler-train run-step …`."""
        words = ["run-step", step, "--workspace", self.workspace, "--run", self.name]
        if step == "plan":
            words += ["--spec", str(self.spec), "--now", NOW]
        return words + (["--part", part] if part else []) + (["--force"] if force else [])

    def measured(self, place: Place, until: str = "publish") -> dict[tuple[str, str], Undisturbed]:
        """Do all steps up to one, undisturbed."""
        names = [name for name, _ in STEPS]
        steps = STEPS[: names.index(until) + 1]
        return {(step, part): measured(place, *self.command(step, part)) for step, part in steps}

    def files(self) -> Files:
        """Return all results: files of steps, and what is published. Not what tells of times, places and locks."""
        store = self.store
        kept = [key for key in store.sizes("") if not _is_told_otherwise(key)]
        return {_VERSION.sub("version", key): timeless(store.read(key)) for key in kept}

    def has_result(self, step: str, part: str) -> bool:
        """Tell whether a step has a manifest."""
        return Run.named(self.store, self.name).manifest(step, part) is not None

    def half_result(self, step: str, part: str, expected: Files) -> str:
        """Return what is wrong with a result that the next step would take; empty when there is none, or it is whole.

        A result is what has a manifest.
        """
        run, store = Run.named(self.store, self.name), self.store
        manifest = run.manifest(step, part)
        for record in manifest.outputs if manifest else ():
            key = f"{run.folder(step, part)}/{record.path}"
            content = store.read(key)
            if sha256(content) != record.sha256:
                return f"half: {key} is not what its manifest says"
            if not _is_told_otherwise(key) and timeless(content) != expected[key]:
                return f"wrong: {key} is not what an undisturbed run has"
        return ""

    def latest(self) -> str:
        """Return the version that readers of the published models are led to; empty before the first."""
        pipeline = self.name.partition("/")[0]
        if self.workspace.startswith("s3://"):
            pointer = self.store.read(f"models/{pipeline}/latest.json")
            return str(json.loads(pointer)["version"]) if pointer else ""
        link = Path(self.workspace) / "models" / pipeline / "latest"
        return link.readlink().name if link.is_symlink() else ""

    def verify_latest(self) -> str:
        """Return what is wrong with the files of the latest version, by its own check sums; empty for nothing."""
        target = open_target(f"{self.workspace}/models")
        with tempfile.TemporaryDirectory() as work:
            try:
                fetch_verified(target, self.name.partition("/")[0], self.latest(), Path(work))
            except UserError as error:
                return str(error)
        return ""

    def recorded(self) -> tuple[list[str], str]:
        """Return the versions that the pipeline's record has, and the latest one by the index of all pipelines."""
        pipeline = self.name.partition("/")[0]
        records = json.loads(self.store.read(f"models/{pipeline}/versions.json") or b'{"versions": []}')
        index = json.loads(self.store.read("models/index.json") or b'{"pipelines": {}}')
        versions = sorted(record["version"] for record in records["versions"])
        return versions, index["pipelines"].get(pipeline, {}).get("latest", "")


def sha256(content: bytes | None) -> str:
    """Return the hash of a file; empty when there is none."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def timeless(content: bytes | None) -> str:
    """Return the hash of a file without what differs between two good trainings: when they were, and so the version."""
    text = _VERSION.sub("version", (content or b"").decode("utf-8", "surrogateescape"))
    return sha256(None if content is None else _TIMES.sub("", text).encode("utf-8", "surrogateescape"))


def _is_told_otherwise(key: str) -> bool:
    """Tell whether a file differs between two good runs: it has the times of its steps, or where it is."""
    name = key.rpartition("/")[2]
    sums_of_version = name == SUMS and key.count("/") == 3  # of files with the time of their training
    return name in _WITH_TIMES or name.endswith(".lock") or "/latest/" in key or sums_of_version


@contextmanager
def lab() -> Iterator[Lab]:
    """Start a Prometheus with two hours of a simulated node, and the S3 server."""
    with tempfile.TemporaryDirectory(prefix="kt-reliability-") as name:
        folder = Path(name)
        nodes = run_nodes(Scenario(start=START, duration=2 * 3600, seed=6, containers=4, phase=300, idle=300))
        write_schedule(folder / "schedule.json", nodes, "simulated")
        samples = store_of(exported(nodes, "legacy", ["rapl-sysfs"], frozenset(), seed=6))
        with (
            prometheus_server(samples) as prometheus,
            SeaweedServer(folder / "s3", buckets=[BUCKET]) as s3,
        ):
            os.environ.update(s3.client_environment())  # for what this process reads itself
            os.environ.pop("AWS_CA_BUNDLE", None)
            run(Place.made(folder / "first"), "--version")  # the first child waits for all imports
            yield Lab(folder, prometheus.url, s3)
