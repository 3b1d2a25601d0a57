"""Models brought back from where they were published, or from the folder of a pipeline."""

from __future__ import annotations

from pathlib import Path

from kepler_train.model_key import Family
from kepler_train.publish.target import open_target
from kepler_train.workspace import fetch_listed, open_store


def fetch_models(uri: str, pipeline: str, family: Family, folder: Path) -> list[Path] | None:
    """Download the models of a family from a pipeline's latest version; return their folders, None without a pipeline.

    A pipeline that was trained there and never published has no versions and is taken as it is.
    """
    store = open_store(uri)
    version = open_target(uri).latest(pipeline)
    home = f"{pipeline}/{version}" if version else pipeline
    sizes = store.sizes(home)
    if not sizes:
        return None
    prefix = f"{home}/{family}/"
    models: set[Path] = set()
    for key, size in sorted(sizes.items()):
        model, slash, _ = key.removeprefix(prefix).partition("/")
        if key.startswith(prefix) and slash:
            fetch_listed(store, key, size, folder)
            models.add(folder / f"{prefix}{model}")
    return sorted(models)
