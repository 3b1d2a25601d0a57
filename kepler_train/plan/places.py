"""Check the places outside of this machine that a run needs, before hours of work: one sentence each."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from kepler_train.errors import KeplerTrainError, UserError
from kepler_train.events import say
from kepler_train.query.prometheus import Prometheus
from kepler_train.spec import RunSpec
from kepler_train.workspace import FileStore, open_store
from kepler_train.workspace.folder import FolderStore

_PROBE = ".kepler-train-check"


def check_places(spec: RunSpec, workspace: FileStore) -> None:
    """Refuse a run whose Prometheus does not answer, or whose files or models could not be written."""
    _check_writable(workspace, "the files of the run")
    say(f"plan: files of the run are kept in {workspace.uri}")
    if spec.publish_to:
        _check_writable(open_store(spec.publish_to), "the models (publish_to)")
    say(f"plan: models are published to {spec.publish_to or f'{workspace.uri}/models'}")
    Prometheus(spec.prometheus).instant("up", time.time())
    say(f"plan: Prometheus at {spec.prometheus} answers")


def _check_writable(store: FileStore, what: str) -> None:
    """Refuse a place that cannot be written, leaving nothing there."""
    if isinstance(store, FolderStore):
        nearest = next(folder for folder in (store.root.absolute(), *store.root.absolute().parents) if folder.exists())
        if not nearest.is_dir():
            raise UserError(f"{store.uri} cannot hold {what}: {nearest} is a file.")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise UserError(f"{store.uri} cannot hold {what}: {Path(nearest)} cannot be written by this user.")
        return
    try:
        store.read(_PROBE)  # first: some servers make a bucket that is written to
        store.write(_PROBE, b"")
    except UserError as error:
        raise UserError(f"{store.uri} cannot hold {what}. {error}") from None
    with suppress(KeplerTrainError):  # keys that may write and not remove: an empty object stays, always the same one
        store.delete(_PROBE)
