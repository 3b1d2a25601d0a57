"""Run a step on a workspace: stage in, verify, work, stage out, and only then write the manifest."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from kepler_train import __version__
from kepler_train.errors import DataError, UserError, room_for, unknown_name
from kepler_train.events import say, warn
from kepler_train.runs.request import NO_REQUEST, Request
from kepler_train.spec import RunSpec
from kepler_train.workspace.failures import noting_failure
from kepler_train.workspace.fetching import fetch_recorded
from kepler_train.workspace.layout import Run
from kepler_train.workspace.manifest import MANIFEST, InputRecord, Manifest, record_of
from kepler_train.workspace.step import Inputs, Step


def run_step(
    step: Step,
    steps: Mapping[str, Step],
    run: Run,
    spec: RunSpec,
    part: str = "",
    force: bool = False,
    quiet: bool = False,
    request: Request = NO_REQUEST,
) -> Manifest:
    """Do a step of a run, or return its result that stands (unless forced).

    The result of a step that works on its inputs alone stands while they are the same. One that reads or changes what
    lies outside of the workspace stands for retries of the same request only, or when the request is to reuse it.

    A `quiet` step neither says that it is done nor names the parts that it does without.
    """
    known = step.parts(spec)
    if not known:
        raise UserError(f"The run {run.name} has no step {step.name}: its parameters do not ask for it.")
    if part not in known:
        named = [name for name in known if name]
        raise UserError(
            unknown_name(f"part of the step {step.name}", part, named)
            if named
            else f"The step {step.name} has no parts."
        )
    sources = _sources(step, steps, run, spec, quiet)
    inputs = [record for manifest in sources for record in _as_inputs(manifest)]
    # Mostly it is not there yet, and if it were, nothing but time would be lost by doing the step again.
    done = None if force or step.always else run.manifest(step.name, part, recheck=False)
    stands = request.why_stands(step, done) if done is not None else ""
    if done is not None and stands and _unchanged(done, run, spec, inputs):
        say(f"{step.name}: {stands}", step=step.name)
        return done

    started, clock = datetime.now(UTC), time.monotonic()
    with (
        noting_failure(run, step.name, part, spec),
        room_for(f"the files of the step {step.name}"),
        _workplace(run, step.name, part) as (scratch, out),
    ):
        folders, gathered = _stage_in(step, run, sources, scratch)
        figures = step.call(Inputs(run, part, folders, gathered), spec, out)
        manifest = Manifest(
            step=step.name,
            part=part,
            request=request.name,
            spec_digest=spec.digest(),
            version=__version__,
            started=started,
            ended=datetime.now(UTC),
            inputs=inputs,
            outputs=[
                record_of(path, out, hashed=not run.store.private) for path in sorted(out.rglob("*")) if path.is_file()
            ],
            figures=figures,
        )
        _stage_out(run, manifest, out)
    if not quiet:
        shown = ", ".join(f"{name} {value}" for name, value in figures.items() if isinstance(value, str | int | float))
        say(
            f"{step.name}: done in {time.monotonic() - clock:.1f} s{': ' + shown if shown else ''}.",
            step=step.name,
            figures=figures,
        )
    return manifest


class _Manifests:
    """The manifests of a run, each read once: `checked` are up to date, `warned` are the sentences on others."""

    def __init__(self, run: Run, steps: Mapping[str, Step], spec: RunSpec) -> None:
        self.run, self.steps, self.spec, self.digest = run, steps, spec, spec.digest()
        self.checked: set[tuple[str, str]] = set()
        self.warned: set[str] = set()
        self._read: dict[tuple[str, str], Manifest | None] = {}

    def of(self, step: str, part: str = "") -> Manifest | None:
        if (step, part) not in self._read:
            self._read[step, part] = self.run.manifest(step, part)
        return self._read[step, part]


def _sources(step: Step, steps: Mapping[str, Step], run: Run, spec: RunSpec, quiet: bool) -> list[Manifest]:
    """Return the manifests of everything the step reads, each of this spec and up to date."""
    manifests = _Manifests(run, steps, spec)
    sources: list[Manifest] = []
    for name in (*step.needs, *step.needs_by(spec)):
        manifest = manifests.of(name)
        if manifest is None:
            raise UserError(f"The run {run.name} has no result of the step {name}: run it first.")
        _check_current(manifest, manifests)
        sources.append(manifest)
    for name in step.gathers:
        parts = steps[name].parts(spec)
        current = _current_parts(name, manifests)
        if not current:
            raise DataError(f"None of the {len(parts)} parts of the step {name} of the run {run.name} has a result.")
        missing = sorted(set(parts) - {manifest.part for manifest in current})
        if missing and not quiet:
            warn(f"{step.name}: {len(missing)} of {len(parts)} parts of {name} have no result: {', '.join(missing)}.")
        sources.extend(current)
    return sources


def _current_parts(step: str, manifests: _Manifests) -> list[Manifest]:
    """Return the results of a step's parts; skip those of another spec, and those of older inputs with a warning."""
    sources = []
    for part in manifests.steps[step].parts(manifests.spec):
        manifest = manifests.of(step, part)
        if manifest is None or manifest.spec_digest != manifests.digest:
            continue
        try:
            _check_current(manifest, manifests)
        except UserError as error:
            if str(error) not in manifests.warned:
                manifests.warned.add(str(error))
                warn(str(error))
        else:
            sources.append(manifest)
    return sources


def _check_current(manifest: Manifest, manifests: _Manifests) -> None:
    """Refuse a result of another spec, and one whose inputs, directly or not, have changed or become more since.

    In a private store nothing changes: its command does the steps one after the other, by one spec.
    """
    run, which = manifests.run, f"{manifest.step} {manifest.part}".rstrip()
    if run.store.private or (manifest.step, manifest.part) in manifests.checked:
        return
    if manifest.spec_digest != manifests.digest:
        raise UserError(f"The step {which} of the run {run.name} was done with another spec: run it again.")
    for name, part in dict.fromkeys((record.step, record.part) for record in manifest.inputs):
        upstream = manifests.of(name, part)
        now = set(_as_inputs(upstream)) if upstream else set()
        if now != {record for record in manifest.inputs if (record.step, record.part) == (name, part)}:
            raise UserError(f"The step {which} of the run {run.name} is older than the {name} it read: run it again.")
        if upstream:
            _check_current(upstream, manifests)
    for name in manifests.steps[manifest.step].gathers:
        read = {record.part for record in manifest.inputs if record.step == name}
        later = [part.part for part in _current_parts(name, manifests) if part.part not in read]
        if later:
            raise UserError(f"The step {which} of the run {run.name} lacks {name} {', '.join(later)}: run it again.")
    manifests.checked.add((manifest.step, manifest.part))


def _as_inputs(manifest: Manifest) -> list[InputRecord]:
    return [InputRecord(step=manifest.step, part=manifest.part, **record.model_dump()) for record in manifest.outputs]


def _unchanged(done: Manifest, run: Run, spec: RunSpec, inputs: list[InputRecord]) -> bool:
    """Return whether a result was made by this spec and version from these inputs, and still exists."""
    if (done.spec_digest, done.version, done.inputs) != (spec.digest(), __version__, inputs):
        return False
    prefix = run.folder(done.step, done.part)
    sizes = run.store.sizes(prefix)
    if any(sizes.get(f"{prefix}/{record.path}") != record.size for record in done.outputs):
        return False
    with run.store.scratch() as scratch:  # the next step will refuse files that are not those of the manifest
        return all(fetch_recorded(run.store, prefix, record, scratch) for record in done.outputs)


@contextmanager
def _workplace(run: Run, step: str, part: str) -> Iterator[tuple[Path, Path]]:
    """Yield folders for the inputs and the outputs of a step; what a failed step wrote is removed.

    In a private store a step works where its result will be: nobody else looks.
    """
    if not run.store.private:
        with run.store.scratch() as scratch:
            (scratch / "out").mkdir()
            yield scratch / "in", scratch / "out"
        return
    home = Path(run.store.uri)
    out = home / run.folder(step, part)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        yield home, out
    except BaseException:
        shutil.rmtree(out)
        raise


def _stage_in(
    step: Step, run: Run, sources: list[Manifest], scratch: Path
) -> tuple[dict[str, Path], dict[str, dict[str, Path]]]:
    """Bring every input to this machine and verify it; return the folders by step and part.

    Those of a private store are there already, and nobody can have changed them.
    """
    folders = {name: scratch / run.folder(name) for name in step.gathers}
    gathered: dict[str, dict[str, Path]] = {name: {} for name in step.gathers}
    for manifest in sources:
        prefix = run.folder(manifest.step, manifest.part)
        folder = scratch / prefix
        for record in () if run.store.private else manifest.outputs:  # only files that the manifest names
            if not fetch_recorded(run.store, prefix, record, scratch):
                raise UserError(
                    f"{run.store.uri}/{prefix}/{record.path} is not what the step {manifest.step} wrote:"
                    " it was changed or removed; run that step again."
                )
        if manifest.step in gathered:
            gathered[manifest.step][manifest.part] = folder
        else:
            folders[manifest.step] = folder
    return folders, gathered


def _stage_out(run: Run, manifest: Manifest, out: Path) -> None:
    """Withdraw the old result, store the new files, and last the manifest that makes them a result."""
    prefix = run.folder(manifest.step, manifest.part)
    if not run.store.private:  # where the files are in their place
        run.store.delete(f"{prefix}/{MANIFEST}")
        # Files of an earlier result that stay belong to none, as no manifest names them.
        stale = set(run.store.sizes(prefix, recheck=False)) - {f"{prefix}/{record.path}" for record in manifest.outputs}
        for key in stale:
            run.store.delete(key)
        for record in manifest.outputs:
            run.store.upload(out / record.path, f"{prefix}/{record.path}")
    run.store.write(f"{prefix}/{MANIFEST}", manifest.model_dump_json(indent=2).encode())
