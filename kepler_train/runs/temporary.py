"""A temporary run: how the everyday commands do their work on files of one's own, through the one runner."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import ClassVar

from kepler_train.errors import DataError, KeplerTrainError
from kepler_train.events import say, warn
from kepler_train.machine.by_node import ANY_NODE, write_machines
from kepler_train.machine.spec import MachineSpec
from kepler_train.model_key import ModelKey
from kepler_train.parts import models_of
from kepler_train.plan.stored import SPEC
from kepler_train.runs.registry import STEPS
from kepler_train.runs.runner import run_step
from kepler_train.samples.schedule import SCHEDULE, Schedule
from kepler_train.spec import RunSpec
from kepler_train.train.apart import apart, runs_users_code
from kepler_train.validate.outcome import VERDICT
from kepler_train.validate.verdict import check_verdict, verdict
from kepler_train.workspace import Figures, Inputs, Manifest, Run, Step, failure_reasons
from kepler_train.workspace.failures import noting_failure
from kepler_train.workspace.folder import FolderStore

Write = Callable[[Path], object]
# People keep all their models; what leaves the house is decided when they export.
_KEEP = replace(STEPS["export"], function="kepler_train.export.step:keep")


@dataclass(frozen=True)
class _GivenStep(Step):
    """A step that was done elsewhere: `write` puts its files into a folder."""

    write: Write = lambda _: None

    def call(self, inputs: Inputs, spec: RunSpec, out: Path) -> Figures:  # noqa: ARG002
        self.write(out)
        return {}


@dataclass(frozen=True)
class _TitledRun(Run):
    """A run that is known by a title, as its folder means nothing to anybody. Each of its steps is done once."""

    log: ClassVar[str] = "the lines above"

    title: str = ""
    _manifests: dict[tuple[str, str], Manifest] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.title

    def manifest(self, step: str, part: str = "", recheck: bool = True) -> Manifest | None:
        """Return the manifest of a finished step, which is read once: every model needs the same ones."""
        if (step, part) not in self._manifests and (manifest := super().manifest(step, part, recheck)):
            self._manifests[step, part] = manifest
        return self._manifests.get((step, part))


class TemporaryRun:
    """A run in a scratch folder that ends with its command; the results of its first steps are given.

    `title` stands in the report for the run's name.
    """

    def __init__(self, scratch: Path, spec: RunSpec, title: str = "") -> None:
        self.spec, self._scratch = spec, scratch
        self._run = _TitledRun(FolderStore(scratch / "workspace", private=True), spec.pipeline, "temporary", title)

    def folder(self, step: str) -> Path:
        """Return the folder of a step's result; a step in parts has a folder for each in it."""
        return Path(self._run.store.uri, self._run.folder(step))

    def folder_of_its_own(self, name: str) -> Path:
        """Return a folder for files that are no result of a step; it ends with the run."""
        folder = self._scratch / name
        folder.mkdir()
        return folder

    def give(self, step: str, write: Write) -> None:
        """Let `write` make the result of a step, whole, as its first part."""
        known = STEPS[step]
        given = _GivenStep(**{entry.name: getattr(known, entry.name) for entry in fields(Step)}, write=write)
        run_step(given, STEPS, self._run, self.spec, known.parts(self.spec)[0], quiet=True)

    def give_plan(self, schedule: Schedule, *keep: Write) -> None:
        """Give the load phases, and let each of `keep` add to the plan what later steps are to know."""

        def write(out: Path) -> None:
            (out / SPEC).write_text(self.spec.model_dump_json(indent=1), encoding="utf-8")
            (out / SCHEDULE).write_text(schedule.model_dump_json(indent=1), encoding="utf-8")
            for more in keep:
                more(out)

        self.give("plan", write)

    def give_samples(self, samples: Path, machine: MachineSpec | None = None) -> None:
        """Give the samples of a query and the machine they are of; refuse samples that cannot serve the spec.

        Somebody who names nodes here means each of them, so the verdict is stricter than that of the validate step.
        """
        found = verdict(self.spec, samples)
        check_verdict(self.spec, found)

        def write(out: Path) -> None:
            for file in samples.glob("*.parquet"):
                (out / file.name).symlink_to(file.absolute())  # they may be large, and on another file system
            write_machines(out, {ANY_NODE: machine} if machine else {})

        self.give("query", write)
        self.give("validate", lambda out: found.write(out / VERDICT))

    def do(self, step: str) -> Figures:
        """Do all parts of a step; return the figures of the last."""
        figures: Figures = {}
        for part in sorted(STEPS[step].parts(self.spec)):
            figures = _do(step, self._run, self.spec, part).figures
        return figures

    def train(self) -> Figures:
        """Train every model of the spec, judge all, and keep them with their verdicts.

        A model that cannot be trained is a warning. Return the figures of the export and the number `trained`.
        """
        models, reasons, began = models_of(self.spec), {}, time.monotonic()
        for done, key in enumerate(models):
            if len(models) > 1:
                left = (time.monotonic() - began) / done * (len(models) - done) if done else None
                say(f"train: model {done + 1} of {len(models)}{_in_words(left)}", model=str(key))
            if reason := self._train_model(key):
                reasons[key] = reason
        trained = len(models) - len(reasons)
        if not trained:
            different = set(reasons.values())
            why = different.pop() if len(different) == 1 else "the lines above say why."
            raise DataError(f"None of the {len(reasons)} models could be trained: {why}")
        self.do("evaluate")
        kept = run_step(_KEEP, STEPS, self._run, self.spec, quiet=True)
        return kept.figures | {"trained": trained}

    def _train_model(self, key: ModelKey) -> str:
        """Train one model; return why it could not be, or nothing."""
        part = str(key)
        try:
            if runs_users_code(key.trainer):
                with noting_failure(self._run, "train", part, self.spec):
                    apart(key.trainer, _do, "train", self._run, self.spec, part)
            else:
                _do("train", self._run, self.spec, part)
        except KeplerTrainError as error:
            if not isinstance(error, DataError):
                raise  # what the user must change is the same for all
        except Exception:
            traceback.print_exc()
        else:
            return ""
        reason = failure_reasons(self._run, "train", [part], self.spec)[part]
        warn(f"{part} cannot be trained: {reason}")
        return reason


def _do(step: str, run: Run, spec: RunSpec, part: str) -> Manifest:
    return run_step(STEPS[step], STEPS, run, spec, part, quiet=True)


def _in_words(seconds: float | None) -> str:
    """Return the time that is left; nothing while it is not known."""
    if seconds is None:
        return ""
    return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"
