"""`kepler-train models …`: the published versions of pipelines, in a folder or a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kepler_train.cli.model_options import (
    LATEST,
    AnswerFormat,
    Format,
    Pipeline,
    Place,
    PublicKey,
    Version,
    open_models,
)
from kepler_train.errors import UserError
from kepler_train.events import say

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Published models: list, compare, fetch, verify, pin and roll back versions.",
)


@app.command("list")
def list_(target: Place = "", form: AnswerFormat = Format.TABLE) -> None:
    """List all pipelines with their latest version and its error."""
    from kepler_train.cli.answers import print_json, print_table, short_errors, time_of
    from kepler_train.publish.store_index import read_index

    place = open_models(target)
    entries = read_index(place)
    if form is Format.JSON:
        found = {name: entry.model_dump(mode="json") for name, entry in entries.items()}
        print_json({"target": place.uri, "pipelines": found})
        return
    rows = [
        [
            name,
            entry.latest or "(never published)",
            str(entry.versions),
            short_errors(entry.errors),
            time_of(entry.published),
            ", ".join(filter(None, ["pinned" if entry.pinned else "", "signed" if entry.signed else "", entry.held])),
        ]
        for name, entry in entries.items()
    ]
    print_table(["pipeline", "latest", "versions", "error of the best models", "published", ""], rows)
    say(f"{len(rows)} pipelines at {place.uri}.")


@app.command()
def show(pipeline: Pipeline, version: Version = "", target: Place = "", form: AnswerFormat = Format.TABLE) -> None:
    """Show the versions of a pipeline, or all that is known of one of them."""
    from kepler_train.cli.answers import (
        print_json,
        print_table,
        short_errors,
        size_of,
        time_of,
        window_of,
    )
    from kepler_train.publish.operations import find_version, versions_at

    place = open_models(target)
    if version:
        record = find_version(place, pipeline, version)
        about = record.model_dump(mode="json") | {"place": f"{place.uri}/{pipeline}/{record.version}"}
        about["latest"] = place.latest(pipeline) == record.version
        if form is Format.JSON:
            print_json(about)
            return
        errors = about.pop("errors")
        print_table(["", ""], [[name.replace("_", " "), _text(value)] for name, value in about.items()])
        print_table(
            ["models of", "MAE (W)", "MAPE (%)", "rows held out", "best model"],
            [
                [name, *map(_text, (one["mae"], one["mape"], one["protocol"], one["model"]))]
                for name, one in errors.items()
            ],
        )
        return
    versions, latest = versions_at(place, pipeline), place.latest(pipeline)
    if form is Format.JSON:
        print_json({"target": place.uri, "pipeline": pipeline, "latest": latest} | versions.model_dump(mode="json"))
        return
    rows = []
    for record in reversed(versions.versions):
        marks = {"latest": record.version == latest, "pinned": record.pinned, "signed": record.signed}
        marks["rolled back"] = record.rolled_back
        told = [*(mark for mark, is_so in marks.items() if is_so), *filter(None, [record.reason])]
        figures = [window_of(record.window), str(record.models), size_of(record.size), short_errors(record.errors)]
        rows.append([record.version, *figures, time_of(record.published), ", ".join(told)])
    print_table(["version", "window (UTC)", "models", "size", "error of the best models", "published", ""], rows)
    for move in versions.moves[-5:]:
        say(f"{time_of(move.time)}: {move.reason}" + (f", latest is {move.version}" if move.version else ""))


@app.command()
def pull(
    pipeline: Pipeline,
    version: Version = LATEST,
    target: Place = "",
    output: Annotated[str, typer.Option("-o", "--output", help="Folder to write; default: MODEL_PATH/PIPELINE.")] = "",
    public_key: PublicKey = None,
    form: AnswerFormat = Format.TABLE,
) -> None:
    """Fetch a version and verify it: every check sum, and the signature when a public key is given."""
    from kepler_train.cli.answers import print_json, size_of
    from kepler_train.cli.files import model_path, scratch, whole_folder
    from kepler_train.export.database import is_pipeline
    from kepler_train.publish.operations import find_version
    from kepler_train.publish.pull import copy_out, fetch_verified

    place = open_models(target)
    name = find_version(place, pipeline, version).version
    there = Path(output).expanduser() if output else model_path(pipeline)
    with whole_folder(there, is_pipeline) as folder, scratch(there) as work:
        found = fetch_verified(place, pipeline, name, work, public_key)
        copy_out(place, found, folder)
    if form is Format.JSON:
        about = {"version": name, "files": found.files, "size": found.size, "signed": found.signed}
        print_json(about | {"signature_checked": public_key is not None, "output": str(there)})
        return
    signature = "signature checked" if public_key else "signature not checked" if found.signed else "not signed"
    say(f"Wrote {there}: {name}, {found.files} files, {size_of(found.size)}; check sums right, {signature}.")


@app.command()
def diff(
    pipeline: Pipeline,
    before: Annotated[str, typer.Argument(help="A version, or the beginning of its name.")],
    after: Version = LATEST,
    target: Place = "",
    everything: Annotated[bool, typer.Option("--all", help="Show also what is the same in both.")] = False,
    form: AnswerFormat = Format.TABLE,
) -> None:
    """Compare two versions: errors, data, features and settings side by side."""
    from kepler_train.cli.answers import print_json, print_table
    from kepler_train.publish.comparison import compare_versions
    from kepler_train.publish.operations import find_version

    place = open_models(target)
    left, right = (find_version(place, pipeline, name) for name in (before, after))
    rows = [row for row in compare_versions(place, pipeline, left, right) if everything or row.changed]
    if form is Format.JSON:
        sections: dict[str, dict[str, list[Any]]] = {}
        for row in rows:
            sections.setdefault(row.section, {})[row.name] = [row.before, row.after]
        print_json({"pipeline": pipeline, "before": left.version, "after": right.version, **sections})
        return
    table = [
        [row.section, row.name, _text(row.before), _text(row.after), _change(row.before, row.after)] for row in rows
    ]
    print_table(["", "", left.version, right.version, "change"], table)
    if not rows:
        say(f"{left.version} and {right.version} of {pipeline} have the same errors, data, features and settings.")


@app.command()
def pin(pipeline: Pipeline, version: Version = LATEST, target: Place = "") -> None:
    """Let latest be a version and stay there, whatever is published."""
    from kepler_train.publish import operations

    place = open_models(target)
    record = operations.pin(place, pipeline, version)
    say(f"{pipeline} at {place.uri} is pinned: latest is {record.version}, and new versions are stored beside it.")


@app.command()
def unpin(pipeline: Pipeline, target: Place = "") -> None:
    """End a pin: the next version that is published may become the latest."""
    from kepler_train.publish import operations

    place = open_models(target)
    before = operations.unpin(place, pipeline)
    say(f"{pipeline} at {place.uri} is no longer pinned; latest is {before} until a newer version is promoted.")


@app.command()
def rollback(
    pipeline: Pipeline,
    to: Annotated[str, typer.Option("--to", help="The version to go to; default: the one before.")] = "",
    target: Place = "",
) -> None:
    """Move latest to the version before, or to a named one, and record that."""
    from kepler_train.publish import operations

    place = open_models(target)
    move = operations.rollback(place, pipeline, to)
    say(f"latest of {pipeline} at {place.uri} is {move.version}: {move.reason}.")


@app.command()
def prune(
    pipeline: Pipeline,
    keep: Annotated[int, typer.Option(min=3, help="Versions to keep, the newest.")],
    target: Place = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove old versions, never one that latest or a pin names."""
    from kepler_train.publish import retention
    from kepler_train.publish.operations import versions_at
    from kepler_train.publish.store_index import index_pipeline

    place = open_models(target)
    versions = versions_at(place, pipeline)
    if dry_run:
        gone = [record.version for record in retention.surplus(versions, place.latest(pipeline), keep)]
    else:
        gone = retention.prune(place, pipeline, keep)
        index_pipeline(place, pipeline)
    for name in gone:
        say(f"{'Would remove' if dry_run else 'Removed'} {pipeline}/{name}.")
    say(f"{len(versions.versions) - len(gone)} versions of {pipeline} at {place.uri} are kept.")


@app.command()
def verify(
    pipeline: Pipeline,
    version: Version = LATEST,
    target: Place = "",
    every: Annotated[bool, typer.Option("--all", help="Verify every version of the pipeline.")] = False,
    public_key: PublicKey = None,
    form: AnswerFormat = Format.TABLE,
) -> None:
    """Verify versions where they are: every check sum, and the signature when a public key is given."""
    from kepler_train.cli.answers import print_json
    from kepler_train.cli.files import scratch
    from kepler_train.publish.operations import find_version, versions_at
    from kepler_train.publish.pull import fetch_verified

    place = open_models(target)
    records = versions_at(place, pipeline).versions if every else [find_version(place, pipeline, version)]
    refused: dict[str, str] = {}
    for record in records:
        try:
            with scratch() as work:
                found = fetch_verified(place, pipeline, record.version, work, public_key)
        except UserError as error:
            refused[record.version] = str(error)
            continue
        signature = "signature right" if public_key else "signed" if found.signed else "not signed"
        if form is Format.TABLE:
            say(f"{pipeline}/{record.version}: {found.files} files are what was published, {signature}.")
    if form is Format.JSON:
        print_json({record.version: refused.get(record.version, "right") for record in records})
    if refused:
        raise UserError(" ".join(refused.values()))


def _text(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "–"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _change(before: Any, after: Any) -> str:
    """Return how much a number changed, in %; empty for anything else."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (before, after))
    return f"{100 * (after - before) / before:+.1f} %" if numbers and before else ""
