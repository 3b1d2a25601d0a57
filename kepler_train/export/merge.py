"""An exported pipeline meets the one that is in the model database already.

Its models replace those of the same node types. What else is there stays: models of other node types, models and files
of other tools.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.export.arguments import ARGUMENTS
from kepler_train.export.carry import carry_arguments, carry_reports, read_index
from kepler_train.export.model_tables import TableRow, own_models, tables_in, write_model_tables
from kepler_train.export.pictures import TablePictures
from kepler_train.export.pipeline_metadata import PipelineMetadata
from kepler_train.export.type_section import add_type_section
from kepler_train.machine.node_types import NODE_TYPES, NodeTypeIndex
from kepler_train.models.files import METADATA


def keep_existing(before: Path, fresh: Path) -> None:
    """Bring what is to stay of the pipeline `before` into its new folder `fresh`.

    Refuse where both have a node type of one number for different machines.
    """
    others = set(read_index(before).types) - set(read_index(fresh).types)
    _merge_node_types(before, fresh)
    replaced = set(_replaced_models(before, fresh))
    for file in _files(before):
        target = fresh / file
        if file not in replaced and not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(before / file, target, follow_symlinks=False)
    _merge_tables(before, fresh)
    _remove_pictures(before, fresh)
    _describe_all_types(before, fresh, others)
    PipelineMetadata.read(fresh).beside(PipelineMetadata.read(before)).write(fresh)


def keep_unchanged(before: Path, fresh: Path) -> bool:
    """Let files of `fresh` that hold the same be the very files of `before`; return whether all are, and no more.

    When a pipeline was exported says nothing about it, so it stays as it is where nothing else has changed.
    """
    names = set(_files(fresh))
    same = {name for name in names if _is_same(before / name, fresh / name)}
    others = (names | set(_files(before))) - same
    if others == {Path(METADATA)}:
        earlier, now = PipelineMetadata.read(before), PipelineMetadata.read(fresh)
        if earlier.content() == now.model_copy(update={"export_time": earlier.export_time}).content():
            others = set()
            same.add(Path(METADATA))
    for name in same:
        (fresh / name).unlink()
        try:
            (fresh / name).hardlink_to(before / name)
        except OSError:  # a file system without links, or a file of another user
            shutil.copy2(before / name, fresh / name, follow_symlinks=False)
    return not others


def _files(folder: Path) -> Iterator[Path]:
    """Yield files and links below a folder by their paths in it."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder)


def _is_same(one: Path, other: Path) -> bool:
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    return one.is_file() and filecmp.cmp(one, other, shallow=False)


def _merge_node_types(before: Path, fresh: Path) -> None:
    """Add the node types of `before` to those of `fresh`."""
    indices = [folder / NODE_TYPES for folder in (before, fresh)]
    earlier, now = (NodeTypeIndex.read(file) if file.exists() else NodeTypeIndex.empty() for file in indices)
    for number in sorted(earlier.types.keys() & now.types.keys()):
        machines = [index.types[number].attrs.attributes() for index in (earlier, now)]
        if machines[0] != machines[1]:
            raise UserError(
                f"{before} has models for another machine as node type {number}: {_told(machines[0])}, not"
                f" {_told(machines[1])}. Train with another --node-type, or export under another name."
            )
    for number, kind in now.types.items():
        earlier = earlier.with_type(number, kind)
    if earlier.types:
        indices[1].write_text(earlier.text(), encoding="utf-8")


def _told(machine: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in machine.items())


def _replaced_models(before: Path, fresh: Path) -> Iterator[Path]:
    """Yield the files of earlier models of ours of the node types that are exported, and of models of the same name."""
    exported = own_models(fresh)
    node_types = {metadata.node_type for metadata in exported.values()}
    earlier = (model for model, metadata in own_models(before).items() if metadata.node_type in node_types)
    for model in (*(model.relative_to(before) for model in earlier), *(model.relative_to(fresh) for model in exported)):
        yield from (model / name for name in _files(before / model))
        yield from (model.with_name(f"{model.name}{suffix}") for suffix in (".zip", ".json"))


def _merge_tables(before: Path, fresh: Path) -> None:
    """Write the tables of `fresh` with the rows of models that other tools have put there."""
    ours = own_models(fresh)
    others: dict[str, list[TableRow]] = {}
    for table, rows in tables_in(before):
        source, _, output_type = table.rpartition("_")
        for row in rows:
            model = fresh / source / output_type / str(row.get("feature_group")) / str(row["model_name"])
            if model not in ours and any(model.with_name(f"{model.name}{end}").exists() for end in (".zip", ".json")):
                others.setdefault(table, []).append(row)
    for table, _ in tables_in(fresh):
        (fresh / f"{table}_model_metadata.csv").unlink()
    write_model_tables(fresh, others)


def _describe_all_types(before: Path, fresh: Path, others: set[int]) -> None:
    """Let the reports of an exported pipeline speak of the node types that stay beside it."""
    if others and (fresh / ARGUMENTS).is_file() and (fresh / NODE_TYPES).is_file():
        carry_reports(before, fresh, others)
        carry_arguments(before, fresh, others)
        add_type_section(fresh)


def _remove_pictures(before: Path, fresh: Path) -> None:
    """Remove the pictures of tables that have no model any more."""
    tables = {table for table, _ in tables_in(fresh)}
    for table, _ in tables_in(before):
        if table not in tables:
            pictures = TablePictures(table)
            for name in (pictures.error_map, pictures.power_curve):
                (fresh / name).unlink(missing_ok=True)
