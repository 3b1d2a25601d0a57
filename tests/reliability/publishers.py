"""Let two publish at once, and look as a reader does while they are at it and afterwards."""

from __future__ import annotations

import random
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from children import Child, Place, measured, start
from counts import Row, progress
from killed_steps import last_words
from lab import KINDS, Files, Lab, StepsOf, sha256

PROBLEMS = ["lost versions", "half versions seen", "latest not whole", "incomplete lists", "other failures"]
LOOKS = ["looks meanwhile"]
_OTHER, _FIRST, _SECOND = "other/1", "lab/1", "lab/2"


@dataclass(frozen=True)
class Target:
    """Where both publish to, and what each version must be."""

    run: StepsOf
    versions: dict[str, Files]  # the files of each version of lab, by its name
    listed: bytes  # the list of pipelines before lab is published
    seconds: float  # that a publisher takes alone
    on_s3: bool

    def reset(self) -> None:
        """Take away everything of lab."""
        store = self.run.store
        if self.on_s3:
            for key in [*store.sizes("models/lab"), "models/.doc/lab.md"]:
                store.delete(key)
        else:
            shutil.rmtree(Path(self.run.workspace) / "models" / "lab", ignore_errors=True)
            (Path(self.run.workspace) / "models" / ".doc" / "lab.md").unlink(missing_ok=True)
        store.write("models/README.md", self.listed)

    def visible(self) -> list[str]:
        """Return the versions that a reader finds: in a folder all of them, in a bucket the one that latest names."""
        if self.on_s3:
            latest = self.run.latest()
            return [latest] if latest else []
        home = Path(self.run.workspace) / "models" / "lab"
        return [path.name for path in home.glob("*/") if not path.is_symlink()]

    def is_whole(self, version: str) -> bool:
        """Tell whether every file of a version is there with its content."""
        store, prefix = self.run.store, f"models/lab/{version}"
        return {key: sha256(store.read(key)) for key in store.sizes(prefix)} == self.versions.get(version)

    def is_there(self, version: str) -> bool:
        """Tell whether every file of a version is there, which is quicker."""
        return set(self.run.store.sizes(f"models/lab/{version}")) == set(self.versions.get(version, {}))

    def rows(self) -> list[str]:
        """Return the pipelines that the list names, with the version whose report each leads to."""
        text = (self.run.store.read("models/README.md") or b"").decode()
        return re.findall(r"\]\((\w+/[^/)]+)/README\.md\)", text)


def publishers(lab: Lab, seed: int, pairs: int) -> list[Row]:
    """Publish `pairs` times at once on a folder, and as often on S3."""
    return [_publish_pairs(lab, kind, seed, pairs) for kind in KINDS]


def _publish_pairs(lab: Lab, kind: str, seed: int, pairs: int) -> Row:
    row, chance = Row(f"publishers, {kind}"), random.Random(f"{seed} {kind}")
    place, target = _prepare(lab, kind)
    for number in range(pairs):
        target.reset()
        names = chance.choice([[_FIRST, _SECOND], [_SECOND, _FIRST], [_FIRST, _FIRST], [_FIRST, _SECOND]])
        children = []
        for name in names:
            children.append(start(place, *lab.run(target.run.workspace, name).command("publish", force=True)))
            time.sleep(chance.uniform(0, target.seconds / 2))
        row.count()
        _look(children, target, row)
        _check(f"{kind}, pair {number}", children, sorted(set(names)), target, row)
        if number % 10 == 9:
            progress(f"{row.name}: {row.tried} pairs, {len(row.problems)} problems")
    return row


def _prepare(lab: Lab, kind: str) -> tuple[Place, Target]:
    """Do two runs of one pipeline up to their export, and publish another pipeline; learn what versions must be."""
    place, workspace = lab.place(f"publish-{kind}"), lab.workspace(kind, f"publish-{kind}")
    first, second, other = (lab.run(workspace, name, hour) for name, hour in ((_FIRST, 0), (_SECOND, 1), (_OTHER, 0)))
    for run in (first, second):  # both plans are made before anything is published
        run.measured(place, until="export")
    other.measured(place)
    listed = other.store.read("models/README.md") or b""
    versions: dict[str, Files] = {}
    for run in (first, second):
        alone = measured(place, *run.command("publish"))
        version = run.latest()
        store = run.store
        versions[version] = {key: sha256(store.read(key)) for key in store.sizes(f"models/lab/{version}")}
    return place, Target(first, versions, listed, alone.seconds, on_s3=kind == "S3")


def _look(children: list[Child], target: Target, row: Row) -> None:
    """Read what is published until both have ended."""
    while any(child.at_work for child in children):
        row.other["looks meanwhile"] += 1
        time.sleep(0.002)  # the publishers need the processors
        latest = target.run.latest()
        if latest and not target.is_there(latest):
            row.problem("latest not whole", f"latest was {latest} before all its files were there")
        for version in target.visible():
            if not target.is_there(version):
                row.problem("half versions seen", f"{version} was seen before all its files were there")


def _check(name: str, children: list[Child], runs: list[str], target: Target, row: Row) -> None:
    for child in children:
        ended = child.ended()
        if ended.code != 0:
            row.problem("other failures", f"{name}: {last_words(ended)}")
    expected = sorted(target.versions)[: len(runs)]
    for version in expected:
        if not target.is_whole(version):
            row.problem("lost versions", f"{name}: {version} is not there as it should be")
    if target.run.latest() != expected[-1]:
        row.problem("latest not whole", f"{name}: latest is {target.run.latest()}, not {expected[-1]}")
    if (known := target.run.recorded()) != (expected, expected[-1]):
        row.problem("lost versions", f"{name}: recorded is {known}")
    rows = target.rows()
    if len(rows) != 2 or f"lab/{expected[-1]}" not in rows:
        row.problem("incomplete lists", f"{name}: the list has {rows}")
