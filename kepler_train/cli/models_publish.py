"""`kepler-train models publish`: a pipeline that was trained on this machine as a new version at a target."""

from __future__ import annotations

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import model_path, scratch
from kepler_train.cli.model_options import Pipeline, Place, open_models
from kepler_train.cli.parameters import given, takes
from kepler_train.errors import UserError
from kepler_train.events import say, warn


@takes("publisher", "legacy_pickles", "keep", "promote", *o.GATE)
def publish(context: typer.Context, pipeline: Pipeline, target: Place = "") -> None:
    """Publish the models of MODEL_PATH/PIPELINE that pass the gate as a new version at a target."""
    from kepler_train.export.arguments import TrainArguments
    from kepler_train.export.database import copy_pipeline
    from kepler_train.export.hold_back import hold_back
    from kepler_train.publish.listed import publish_and_list
    from kepler_train.workspace.folder import FolderStore

    trained = model_path(pipeline)
    asked = o.spec_of(given(context), pipeline=pipeline)
    place = open_models(target)
    if isinstance(place.store, FolderStore) and place.store.root.resolve() == trained.parent.resolve():
        raise UserError(f"{place.uri} is where {pipeline} was trained: name another folder or a bucket with --target.")
    with scratch() as work:
        fresh = work / pipeline
        models = copy_pipeline(
            trained, fresh, {"publisher": asked.publisher}, archives=True, pickles=asked.legacy_pickles
        )
        held_back = hold_back(fresh, asked)
        arguments = TrainArguments.read(fresh)
        if arguments.start is None or arguments.end is None:
            raise UserError(f"{trained} does not say which window it was trained on: train it again.")
        spec = asked.model_copy(update={"start": arguments.start, "end": arguments.end})
        for name, reason in held_back.items():
            warn(f"{name} does not pass the gate and is not published: {reason}.")
        published = publish_and_list(place, fresh, spec, work)
    say(f"Published {models - len(held_back)} models of {pipeline}, latest is {published.latest or 'no version'}.")
