"""The gate on the way out: what does not pass it is taken out of the copy of a pipeline that others will read."""

from __future__ import annotations

import shutil
from pathlib import Path

from kepler_train.errors import DataError
from kepler_train.evaluate.figures import worst
from kepler_train.evaluate.gate import refusal
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.layout import ERROR_REPORT
from kepler_train.export.model_tables import own_models, tables_in, write_model_tables
from kepler_train.models.archive import write_archive
from kepler_train.models.files import METADATA, write_json
from kepler_train.models.metadata import ModelMetadata
from kepler_train.models.sums import write_sums
from kepler_train.spec import RunSpec


def hold_back(pipeline: Path, spec: RunSpec) -> dict[str, str]:
    """Remove the models of a pipeline's copy that do not pass the gate of a spec; return why, by their folders.

    A copy of which nothing would be left is refused. The verdict in the metadata of the others becomes that of this
    gate.
    """
    models = own_models(pipeline)
    refused = {folder: why for folder, metadata in models.items() if (why := _refusal(metadata, spec))}
    if models and len(refused) == len(models):
        folder, why = next(iter(refused.items()))
        raise DataError(
            f"None of the {len(models)} models of {pipeline.name} passes the gate, so nothing is exported:"
            f" {folder.relative_to(pipeline)} has {why}; see the report, or widen --gate-mae, --gate-mape or"
            " --gate-limit."
        )
    for folder, metadata in models.items():
        if folder in refused:
            _remove(folder)
        elif metadata.refused:
            _let_pass(folder, metadata)
    if refused:
        _shorten_tables(pipeline)
        _shorten_reports(pipeline, refused)
    return {str(folder.relative_to(pipeline)): why for folder, why in refused.items()}


def _refusal(metadata: ModelMetadata, spec: RunSpec) -> str:
    figures = metadata.figures
    worsts = {name: (worst(errors, "mae"), worst(errors, "mape")) for name, errors in figures.items()}
    return refusal(worsts or {Protocol.BLOCKED: (metadata.mae, metadata.mape)}, spec)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder)
    for suffix in (".zip", ".json"):
        folder.with_name(f"{folder.name}{suffix}").unlink(missing_ok=True)


def _let_pass(folder: Path, metadata: ModelMetadata) -> None:
    """Take an earlier gate's verdict out of the metadata."""
    content = {name: value for name, value in metadata.content().items() if name != "refused"}
    write_json(folder / METADATA, content)
    write_sums(folder, changed=(METADATA,))
    archive = folder.with_name(f"{folder.name}.zip")
    if archive.exists():
        write_archive(folder, archive)


def _shorten_tables(pipeline: Path) -> None:
    """Leave in the tables the models that are there."""
    for table, _ in tables_in(pipeline):
        (pipeline / f"{table}_model_metadata.csv").unlink()
    write_model_tables(pipeline)


def _shorten_reports(pipeline: Path, refused: dict[Path, str]) -> None:
    """Take the lines of models that are not there out of the tables of errors, by source and output type."""
    gone = {(f"{f.parts[-4]} {f.parts[-3]}", f"| {f.name} | {f.parts[-2]} |") for f in refused}
    for report in (pipeline / ERROR_REPORT).glob("*.md"):
        lines, title = [], ""
        for line in report.read_text(encoding="utf-8").splitlines(keepends=True):
            title = line.removeprefix("# ").strip() if line.startswith("# ") else title
            if not any(title == of and line.startswith(row) for of, row in gone):
                lines.append(line)
        report.write_text("".join(lines), encoding="utf-8")
