"""A pipeline that grows: what it has of other node types is carried into what was trained now."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.evaluate.window_rows import rows_folder
from kepler_train.events import say
from kepler_train.export.arguments import ARGUMENTS, TrainArguments
from kepler_train.export.html_report import HTML_REPORT
from kepler_train.export.layout import ERROR_REPORT
from kepler_train.export.model_tables import write_model_tables
from kepler_train.export.pipeline_metadata import PipelineMetadata
from kepler_train.export.renumber import renumber
from kepler_train.export.type_section import add_type_section
from kepler_train.machine.node_attributes import NodeAttributes
from kepler_train.machine.node_types import NODE_TYPES, NodeType, NodeTypeIndex
from kepler_train.model_key import node_type_of_name
from kepler_train.models.artifact import read_metadata
from kepler_train.models.files import METADATA


def carry_node_types(before: Path, fresh: Path) -> None:
    """Add to the folder `fresh` of a pipeline what the folder `before` of the same pipeline has of other node types.

    `fresh` holds one node type, trained now, and replaces that type alone. If its number was given to another machine
    meanwhile, it gets the number of its machine in `before`, or the next.
    """
    index, trained = read_index(before), read_index(fresh)
    for number, kind in trained.types.items():
        free = _number_for(index, number, kind, own=TrainArguments.read(fresh).own_node_type)
        if free != number and len(trained.types) > 1:
            raise UserError(
                f"Node type {number} is {', '.join(kind.members) or 'another machine'} here, and another machine where"
                " it is to go: publish under another name, or train the machines one by one."
            )
        if free != number:
            say(f"Node type {number} is another machine's meanwhile: {', '.join(kind.members)} gets {free}.")
            renumber(fresh, number, free)
        index = index.with_type(free, kind)
    ours = set(read_index(fresh).types)
    others = set(index.types) - ours
    _write_index(fresh, index)
    if others:
        for model in _entries_of_models(before, others):
            _copy(model, fresh / model.relative_to(before))
        for folder in map(rows_folder, others):
            if (before / folder).is_dir():
                _copy(before / folder, fresh / folder)
        write_model_tables(fresh)
        carry_reports(before, fresh, others)
        carry_arguments(before, fresh, others)
        _carry_metadata(before, fresh)
        add_type_section(fresh)


def read_index(pipeline: Path) -> NodeTypeIndex:
    """Return the node types of a pipeline: those of its index, and those that only its models know."""
    file = pipeline / NODE_TYPES
    index = NodeTypeIndex.read(file) if file.is_file() else NodeTypeIndex.empty()
    for model in sorted(pipeline.glob(f"*/*/*/*/{METADATA}")):
        number = node_type_of_name(model.parent.name)
        if number is not None and number not in index.types:
            about = read_metadata(model.parent)
            members = [about.machine_id] if about.machine_id else []
            index = index.with_type(number, NodeType(attrs=_attributes(about.machine_spec), members=members))
    return index


def window_end(pipeline: Path, node_type: int | None = None) -> datetime | None:
    """Return the end of the latest window that a pipeline, or one of its node types, was trained on."""
    by_type = TrainArguments.read(pipeline).by_type
    return max(
        (about.end for number, about in by_type.items() if about.end and node_type in (None, number)), default=None
    )


def _attributes(machine: object) -> NodeAttributes:
    return NodeAttributes.model_validate(machine or {})


def _number_for(index: NodeTypeIndex, number: int, kind: NodeType, *, own: bool) -> int:
    """Return the number of a type in an index: its own, unless the index has another machine under it."""
    there = index.types.get(number)
    contradicts = there and kind.attrs.contradicting(there.attrs)
    nameless = own and there and not set(kind.members) & set(there.members)
    if not contradicts and not nameless:
        return number
    found = index.exact(kind.attrs)
    found = index.of_member(kind.members, kind.attrs) if found is None else found
    return index.next_number if found is None else found


def _entries_of_models(pipeline: Path, numbers: set[int]) -> Iterator[Path]:
    """Yield folders, archives and weights of the models of some node types."""
    for entry in sorted(pipeline.glob("*/*/*/*")):
        name = entry.name if entry.is_dir() else entry.stem
        if node_type_of_name(name) in numbers:
            yield entry


def _copy(entry: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if entry.is_dir():
        shutil.copytree(entry, place, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(entry, place)


def carry_reports(before: Path, fresh: Path, numbers: set[int]) -> None:
    """Keep the reports of other node types: their tables of errors, and the page of each as it was trained."""
    (fresh / ERROR_REPORT).mkdir(exist_ok=True)
    for number in numbers:
        for suffix in (".md", ".html"):
            report = before / ERROR_REPORT / f"node_type_{number}{suffix}"
            if report.is_file():
                shutil.copyfile(report, fresh / ERROR_REPORT / report.name)
    last = TrainArguments.read(before).node_type
    if last in numbers and (before / HTML_REPORT).is_file():
        shutil.copyfile(before / HTML_REPORT, fresh / ERROR_REPORT / f"node_type_{last}.html")


def carry_arguments(before: Path, fresh: Path, numbers: set[int]) -> None:
    """Keep what other node types were trained with."""
    by_type = TrainArguments.read(before).by_type
    earlier = {str(number): by_type[number].model_dump(mode="json") for number in sorted(numbers) if number in by_type}
    arguments = json.loads((fresh / ARGUMENTS).read_text(encoding="utf-8"))
    (fresh / ARGUMENTS).write_text(
        json.dumps(arguments | {"earlier": arguments.get("earlier", {}) | earlier}, indent=1), encoding="utf-8"
    )


def _carry_metadata(before: Path, fresh: Path) -> None:
    """Let the metadata of the pipeline speak of all its node types: when it began, and which trainers it has."""
    then, now = (PipelineMetadata.of_folder(folder) for folder in (before, fresh))
    now.beside(then).write(fresh)


def _write_index(pipeline: Path, index: NodeTypeIndex) -> None:
    (pipeline / NODE_TYPES).write_text(index.text(), encoding="utf-8")
