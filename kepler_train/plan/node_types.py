"""Keep with the plan the node types of a pipeline as they are now: among them the machine of the run is looked up."""

from __future__ import annotations

from pathlib import Path

from kepler_train.machine.node_types import NODE_TYPES, NodeTypeIndex
from kepler_train.publish.target import open_target
from kepler_train.workspace import open_store


def keep_node_types(pipeline: str, models: str, folder: Path) -> None:
    """Copy the index of the pipeline's latest version at an address, where it has one.

    A pipeline that was trained there and never published has no versions and is taken as it is.
    """
    store, version = open_store(models), open_target(models).latest(pipeline)
    key = f"{pipeline}/{version}/{NODE_TYPES}" if version else f"{pipeline}/{NODE_TYPES}"
    content = store.read(key)
    if content is not None:
        NodeTypeIndex.parse(content.decode("utf-8", "replace"), f"{store.uri}/{key}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NODE_TYPES).write_bytes(content)
