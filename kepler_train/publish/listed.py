"""Publish a version and bring all that tells of it up to date: what the step and the command share."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.evaluate.comparison import Comparison
from kepler_train.events import say, warn
from kepler_train.publish.grown import publish_grown
from kepler_train.publish.index import list_pipeline
from kepler_train.publish.publishing import Published
from kepler_train.publish.retention import prune
from kepler_train.publish.store_index import expect_change, index_pipeline
from kepler_train.publish.target import Target
from kepler_train.spec import RunSpec


def publish_and_list(
    target: Target, exported: Path, spec: RunSpec, scratch: Path, compared: Comparison | None = None
) -> Published:
    """Publish what was exported, remove versions beyond those that are kept, and enter it in the lists of pipelines.

    `compared` is its comparison with the version that was there when the run was planned.
    """
    models = len(list(exported.glob("*/*/*/*.zip")))
    with suppress(UserError):  # said below, when the index is written
        expect_change(target, spec.pipeline)
    version, published = publish_grown(target, exported, spec, scratch, compared)
    record = published.record
    say(f"publish: {models} models at {target.uri}/{spec.pipeline}/{version}")
    say(f"publish: {'promoted' if record.promoted else 'stored, not promoted'}. {record.reason}")
    say(f"publish: latest of {spec.pipeline} is {published.latest or 'no version'}")
    for name in prune(target, spec.pipeline, spec.keep):
        say(f"publish: removed {name}, as keep is {spec.keep}")
    target.tidy(spec.pipeline)
    try:
        index_pipeline(target, spec.pipeline)
        list_pipeline(target.uri, spec.pipeline)
    except UserError as error:  # the models are there, which is what others wait for
        warn(f"The list of pipelines at {target.uri} is left as it is: {error}")
    return published
