"""What each page holds, from what is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kepler_airflow.models_page.history import ErrorHistory, error_histories
from kepler_airflow.models_page.store import Pipeline
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.leaderboard import ListedModel, ModelError
from kepler_train.models.files import WEIGHTS
from kepler_train.publish.store_index import PipelineEntry
from kepler_train.publish.version_record import ErrorFigure, VersionRecord

PROTOCOLS = [str(protocol) for protocol in Protocol]
# Error under loads that the model has not seen; in blocks of time where there was one load only.
_HONEST = (Protocol.WORKLOAD, Protocol.BLOCKED)
_DOWNLOADS = (".zip", ".onnx", WEIGHTS, "metadata.json", "model_card.md")
_HELD_OUT = "held_out.svg"


@dataclass(frozen=True)
class PipelineRow:
    """A pipeline and its best model of one source and output type; none for a pipeline without figures."""

    name: str
    entry: PipelineEntry
    power: str
    best: ErrorFigure | None


def pipelines_page(entries: Mapping[str, PipelineEntry], text: str, power: str) -> dict[str, Any]:
    """Return the rows of all pipelines whose name or best model has a text, of one kind of power or all."""
    rows = [
        PipelineRow(name, entry, kind, best)
        for name, entry in entries.items()
        for kind, best in (entry.errors or {"": None}).items()
    ]
    wanted = text.strip().lower()
    shown = [
        row
        for row in rows
        if (not power or row.power == power)
        and wanted in f"{row.name} {row.power} {row.best.model if row.best else ''}".lower()
    ]
    powers = sorted({row.power for row in rows if row.power})
    return {"title": "Models", "rows": shown, "total": len(entries), "powers": powers, "q": text, "power": power}


def pipeline_page(pipeline: Pipeline) -> dict[str, Any]:
    """Return the versions of a pipeline, the newest first, and how their error went."""
    records = list(reversed(pipeline.versions.versions))
    histories: list[ErrorHistory] = error_histories(pipeline.versions.versions)
    return {
        "title": pipeline.name,
        "pipeline": pipeline,
        "versions": records,
        "moves": list(reversed(pipeline.versions.moves)),
        "histories": histories,
    }


def version_page(pipeline: Pipeline, version: VersionRecord) -> dict[str, Any]:
    """Return the models of a version, the best first, with their errors by protocol."""
    models = sorted(pipeline.models(version), key=lambda model: (model.source, model.output_type, honest(model).mae))
    return {
        "title": f"{pipeline.name} {short(version.version)}",
        "pipeline": pipeline,
        "version": version,
        "models": models,
        "protocols": [name for name in PROTOCOLS if any(name in model.errors for model in models)],
        "has_report": "report.html" in pipeline.files(version),
    }


def model_page(pipeline: Pipeline, version: VersionRecord, folder: str) -> dict[str, Any]:
    """Return the card of a model, its errors by workload, its pictures and its files."""
    about = pipeline.model(version, folder)
    files = pipeline.files(version)
    curve = f"{about.energy_source}_{about.output_type}_power_curve.png"
    inside = [path for path in files if path.startswith(f"{folder}/") or path == f"{folder}.zip"]
    protocol = next((name for name in _HONEST if name in about.figures), None)
    return {
        "title": f"{about.model_name} of {pipeline.name}",
        "pipeline": pipeline,
        "version": version,
        "folder": folder,
        "about": about,
        "protocols": [name for name in PROTOCOLS if name in about.figures],
        "farthest": about.figures[protocol] if protocol else {},
        "farthest_name": protocol or "",
        "pictures": [path for path in (f"{folder}/{_HELD_OUT}", curve) if path in files],
        "downloads": {path: files[path] for path in sorted(inside) if path.endswith(_DOWNLOADS)},
    }


def compare_page(pipeline: Pipeline, before: VersionRecord, after: VersionRecord) -> dict[str, Any]:
    """Return the models of two versions by folder, with the honest error of each, and what else differs."""
    pair = [{model.folder: model for model in pipeline.models(version)} for version in (before, after)]
    folders = sorted({*pair[0], *pair[1]})
    return {
        "title": f"{pipeline.name}: two versions",
        "pipeline": pipeline,
        "before": before,
        "after": after,
        "rows": [(folder, *(_honest_or_none(models.get(folder)) for models in pair)) for folder in folders],
        "features": [(folder, *(_features(models.get(folder)) for models in pair)) for folder in folders
                     if _features(pair[0].get(folder)) != _features(pair[1].get(folder))],
        "versions": list(reversed(pipeline.versions.versions)),
    }  # fmt: skip


def honest(model: ListedModel) -> ModelError:
    """Return the error of the worst component under unseen load, or in blocks of time."""
    errors = (model.worst(protocol) for protocol in _HONEST)
    return next((error for error in errors if error), ModelError(mae=float("inf")))


def short(version: str) -> str:
    """Return the name of a version as a table shows it: the end of its window and the first digits."""
    stamp, _, digest = version.partition("-")
    return f"{stamp}-{digest[:8]}" if digest else version


def _honest_or_none(model: ListedModel | None) -> ModelError | None:
    return honest(model) if model else None


def _features(model: ListedModel | None) -> str:
    return ", ".join(model.features) if model else ""
