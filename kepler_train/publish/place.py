"""Where the models of a run are published: the address of its spec, the bucket of its secret, or the workspace."""

from __future__ import annotations

from kepler_train.errors import Skipped
from kepler_train.events import say
from kepler_train.spec import RunSpec
from kepler_train.workspace import FileStore
from kepler_train.workspace.store_keys import grant


def place_of_models(spec: RunSpec, workspace: FileStore) -> str:
    """Return the address that a run publishes to, with the keys of its secret in use; skip without its secret."""
    if spec.cos_provider == "none":
        return spec.publish_to or f"{workspace.uri}/models"
    return grant(spec.cos_provider, spec.cos_secret_name, spec.publish_to)


def readable_models(spec: RunSpec, workspace: FileStore) -> str:
    """Return the address of the models that a run may start from; without its secret those of the workspace."""
    try:
        return place_of_models(spec, workspace)
    except Skipped as reason:
        say(f"plan: {reason}")
        return f"{workspace.uri}/models"
