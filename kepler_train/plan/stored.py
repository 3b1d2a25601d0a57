"""The spec that a run was planned with, and specs in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train import strict_json
from kepler_train.errors import UserError
from kepler_train.samples.schedule import SCHEDULE, parse_schedule
from kepler_train.spec import RunSpec, read_spec
from kepler_train.workspace import Manifest, Run, fetch_recorded

SPEC = "spec.json"


def planned(run: Run) -> RunSpec:
    """Return the spec that the plan step stored, with the window of the stress step where that is done."""
    manifest = run.manifest("plan")
    if manifest is None:
        raise UserError(f"The run {run.name} has no plan yet: run the plan step first.")
    with _stored(run, manifest, SPEC) as file:
        spec = read_spec_file(file)
    stress = run.manifest("stress") if spec.stress else None
    if stress is None:
        return spec
    with _stored(run, stress, SCHEDULE) as file:
        start, end = parse_schedule(file.read_bytes(), file).span()
    return spec.model_copy(update={"start": start, "end": end})


@contextmanager
def _stored(run: Run, manifest: Manifest, name: str) -> Iterator[Path]:
    """Yield a file that a step stored, verified by its hash."""
    expected = {record.path: record for record in manifest.outputs}.get(name)
    with run.store.scratch() as scratch:
        file = fetch_recorded(run.store, run.folder(manifest.step), expected, scratch) if expected else None
        if file is None:
            what = Path(name).stem
            raise UserError(f"The stored {what} of the run {run.name} was changed: run the {manifest.step} step again.")
        yield file


def read_spec_file(file: Path) -> RunSpec:
    """Read a spec from a JSON file."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise UserError(f"The spec {file} cannot be read: {error.strerror}.") from None
    return read_spec(strict_json.read(text, f"The spec {file}"), str(file))
