"""Models brought back from where they were published, or from the folder of a pipeline."""

from __future__ import annotations

from pathlib import Path

from kepler_train.publish.target import open_target
from kepler_train.workspace import open_store


def fetch_models(uri: str, pipeline: str, below: str, folder: Path) -> list[Path] | None:
    """The model folders below `<source>/<output type>/<group>` of a pipeline's latest version, on this machine.

    A pipeline that was trained there and never published has no versions and is taken as it is. None: no pipeline.
    """
    store = open_store(uri)
    version = open_target(uri).latest(pipeline)
    home = f"{pipeline}/{version}" if version else pipeline
    files = sorted(store.sizes(home))
    if not files:
        return None
    prefix = f"{home}/{below}/"
    found: set[Path] = set()
    for key in files:
        model, slash, _ = key.removeprefix(prefix).partition("/")
        if key.startswith(prefix) and slash:
            store.download(key, folder)
            found.add(folder / f"{prefix}{model}")
    return sorted(found)
