"""Pipelines as the export step leaves them, small, for tests of what is known of versions."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kepler_train.publish.publishing import Published, pack, publish_version
from kepler_train.publish.store_index import index_pipeline
from kepler_train.publish.target import Target

FIRST_NIGHT = datetime(2026, 11, 1, 2, tzinfo=UTC)
TABLE = "rapl-sysfs_AbsPower_model_metadata.csv"
ZIP = "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0.zip"


def window(night: int) -> tuple[datetime, datetime]:
    """The two hours before 02:00 of a night of November 2026; the first is 1."""
    end = FIRST_NIGHT + timedelta(days=night - 1)
    return end - timedelta(hours=2), end


def pipeline(folder: Path, name: str, night: int, mae: float = 2.5, **arguments: object) -> Path:
    """What was exported of a night: one model, whose files say which night it is."""
    start, end = window(night)
    model = folder / ZIP.removesuffix(".zip")
    model.mkdir(parents=True)
    about = {"features": ["bpf_cpu_time_ms"], "workloads": {"cpu": 10}, "model_name": model.name}
    (model / "metadata.json").write_text(json.dumps(about))
    (folder / ZIP).write_text(f"zip of night {night}")
    (folder / "metadata.json").write_text(json.dumps({"name": name, "isolator": "min"}))
    spec = {"energy_sources": ["rapl-sysfs"], "output_types": ["AbsPower"], "feature_groups": ["BPFOnly"]}
    spec |= {"machine_id": "m5", "start": start.isoformat(), "end": end.isoformat(), **arguments}
    (folder / "train_arguments.json").write_text(json.dumps(spec))
    header = "model_name,feature_group,mae,mape\n"
    (folder / TABLE).write_text(f"{header}LinearRegressionTrainer_0,BPFOnly,{mae},4.2\n")
    return folder


def published(target: Target, work: Path, name: str, night: int, mae: float = 2.5, **arguments: object) -> Published:
    """Publish a night of a pipeline, as the step does."""
    place = work / f"{name}-{night}-{mae}"
    exported = place / "export" if place.exists() else pipeline(place / "export", name, night, mae, **arguments)
    packed = place / f"pack-{len(list(place.iterdir()))}"
    version, package = pack(exported, window(night)[1], packed)
    outcome = publish_version(target, package, name, version, window(night))
    index_pipeline(target, name)
    return outcome
