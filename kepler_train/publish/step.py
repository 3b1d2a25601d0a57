"""Publish: a new version of the pipeline's models at the target, `latest` moved to it in one step, and the list."""

from __future__ import annotations

import json
from pathlib import Path

from kepler_train.errors import DataError
from kepler_train.evaluate.gate import rule
from kepler_train.events import say
from kepler_train.export.champion import read_comparison
from kepler_train.isolate.background import PROFILE, promote_profile
from kepler_train.publish.listed import publish_and_list
from kepler_train.publish.place import place_of_models
from kepler_train.publish.target import open_target
from kepler_train.records import Record
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs

PUBLISHED = "published.json"


class Publication(Record):
    """Where a run has published which version, and the version that is the latest since then."""

    target: str
    pipeline: str
    version: str
    place: str
    latest: str
    promoted: bool = False
    reason: str = ""


def publish(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Publish what was exported; a run without a good model publishes nothing."""
    exported = inputs.folder("export") / spec.pipeline
    models = sorted(exported.glob("*/*/*/*.zip"))
    if not models:
        raise DataError(
            f"No model of {spec.pipeline} passed the gate: nothing is published. A model passes when {rule(spec)}."
            " The report of the export step shows the errors."
        )
    target = open_target(place_of_models(spec, inputs.run.store))
    compared = read_comparison(inputs.folder("export"))
    with inputs.run.store.scratch() as scratch:
        latest, record = publish_and_list(target, exported, spec, scratch, compared)
    version = record.version
    place = f"{target.uri}/{spec.pipeline}/{version}"
    profile = inputs.folder("export") / PROFILE
    if profile.is_file():
        kept = promote_profile(profile.read_bytes(), inputs.run.store)
        made = f"{kept.node}, {kept.end:%Y-%m-%d %H:%M} UTC"
        say(f"publish: the background profile of node type {kept.node_type} is of {made}")
    published = Publication(
        target=target.uri,
        pipeline=spec.pipeline,
        version=version,
        place=place,
        latest=latest,
        promoted=record.promoted,
        reason=record.reason,
    )
    (out / PUBLISHED).write_text(json.dumps(published.content(), indent=1), encoding="utf-8")
    told = {"promoted": record.promoted, "reason": record.reason}
    return {"models": len(models), "version": version, "latest": latest, "place": place} | told
