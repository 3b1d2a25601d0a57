"""`kepler-train export`: a trained pipeline in a model database, beside what is there."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from kepler_train.cli import options as o
from kepler_train.cli.exchange import put_in_place
from kepler_train.cli.files import model_path, named, scratch
from kepler_train.cli.parameters import given, takes
from kepler_train.errors import UserError
from kepler_train.events import say, warn

_OUTPUT = "-o"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@takes("publisher", "legacy_pickles", *o.GATE, required=["pipeline"])
def export(
    context: typer.Context,
    output: Annotated[str, typer.Option(_OUTPUT, "--output", help="Folder of the model database, as MODEL_DB/models.")],
    benchmark: Annotated[str, typer.Option(help="Benchmark whose start is the time of collection.")] = "",
    collect_date: Annotated[
        str, typer.Option(help="Time of collection, as 2026-11-14T02:00:00Z; a date is its midnight UTC.")
    ] = "",
    zip_archives: Annotated[
        Literal["true", "false"], typer.Option("--zip", help="With a zip per model, and one of the whole pipeline.")
    ] = "true",
) -> None:
    """Copy the models of a trained pipeline that pass the gate into a model database, beside what is there."""
    from kepler_train.export.database import copy_pipeline, is_pipeline, version_folder
    from kepler_train.export.hold_back import hold_back
    from kepler_train.export.pipeline_metadata import utc
    from kepler_train.publish.index import list_pipeline

    spec, archives = o.spec_of(given(context)), zip_archives == "true"
    collected = _collected(benchmark, collect_date)
    root = Path(output).expanduser()
    pipeline, home = model_path(spec.pipeline), version_folder(root, _OUTPUT)
    place = home / spec.pipeline
    for taken in (place, root / spec.pipeline):
        if taken.exists() and taken.samefile(pipeline):
            raise UserError(f"{taken} is what is read, and is left as it is: choose another {_OUTPUT} for the copy.")
    provenance = {"publisher": spec.publisher, "collect_time": utc(collected) if collected else ""}
    with scratch(root / spec.pipeline) as work:
        fresh = work / spec.pipeline
        provenance["export_time"] = utc(datetime.now(UTC))
        models = copy_pipeline(pipeline, fresh, provenance, archives, spec.legacy_pickles)
        held_back = hold_back(fresh, spec)
        models -= len(held_back)
        with _writing(home, root):
            changed = _put(fresh, place)
            changed |= _put_archive(place, work, archives)
    for name, reason in held_back.items():
        warn(f"{name} does not pass the gate and is not exported: {reason}.")
    list_pipeline(str(home.absolute()), spec.pipeline)
    if root != home and is_pipeline(root / spec.pipeline):
        warn(f"{root / spec.pipeline} is of an earlier version and is left as it is: models are in {home} now.")
    say(f"Wrote {place}: {models} models." if changed else f"{place} has these {models} models already.")


def _collected(benchmark: str, collect_date: str) -> datetime | None:
    """Return when the data were collected, as one of two options says."""
    from kepler_train.samples.benchmark import read_benchmark

    if benchmark and collect_date:
        raise UserError("Name the time of collection in one way: --benchmark or --collect-date.")
    if benchmark:
        return read_benchmark(named(benchmark, ".json"))[0]
    if not collect_date:
        return None
    try:
        moment = datetime.fromisoformat(collect_date)
        if _DATE.fullmatch(collect_date):
            return moment.replace(tzinfo=UTC)
        if moment.tzinfo is None:
            raise UserError(f"--collect-date {collect_date}: a time needs its zone, as in 2026-11-14T02:00:00Z.")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UserError(
            f"--collect-date {collect_date} is not a time: write it as 2026-11-14T02:00:00Z, or a date as 2026-11-14."
        ) from None


def _put(fresh: Path, place: Path) -> bool:
    """Let a new folder take the place of an earlier one with what is to stay of that; return whether it differs."""
    from kepler_train.export.database import is_pipeline
    from kepler_train.export.merge import keep_existing, keep_unchanged

    if place.is_dir() and any(place.iterdir()):
        if not is_pipeline(place):
            raise UserError(f"{place} holds something else and is left as it is: choose another name or {_OUTPUT}.")
        keep_existing(place, fresh)
        if keep_unchanged(place, fresh):
            return False
    put_in_place(fresh, place)
    return True


def _put_archive(place: Path, work: Path, archives: bool) -> bool:
    """Write the zip of a pipeline beside its folder, or remove the one that is out of date; return what was done."""
    from kepler_train.export.pipeline_archive import is_pipeline_archive, write_pipeline_archive

    archive, new = place.with_name(f"{place.name}.zip"), work / f"{place.name}.zip"
    if archive.exists() and not is_pipeline_archive(archive, place.name):
        warn(f"{archive} was not written by kepler-train and is left as it is.")
        return False
    if not archives:
        is_there = archive.exists()
        archive.unlink(missing_ok=True)
        return is_there
    write_pipeline_archive(place, new)
    if archive.exists() and archive.read_bytes() == new.read_bytes():
        return False
    new.replace(archive)
    return True


@contextmanager
def _writing(home: Path, root: Path) -> Iterator[None]:
    """Make the folder of pipelines and let one export after the other write to it.

    The folder itself is locked, so that no file of ours is left in the database.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # network file systems lock no folders
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
    except PermissionError as error:
        raise UserError(f"{_OUTPUT} {root} cannot be written: {error.strerror}. Choose another place.") from None
