"""Models brought back from where they were published, or from the folder of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.model_key import Family
from kepler_train.models.archive import MOST_BYTES, MOST_FILES
from kepler_train.publish.target import open_target
from kepler_train.workspace import FileStore, fetch_listed, open_store


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
    parted = [key.removeprefix(prefix).partition("/") for key in sizes if key.startswith(prefix)]
    models = sorted({model for model, slash, _ in parted if slash})  # each has an archive beside its folder
    return [fetch_model(store, sizes, f"{prefix}{model}", folder) for model in models]


def fetch_model(store: FileStore, sizes: Mapping[str, int], place: str, folder: Path) -> Path:
    """Download the files of one model, of those that are listed with their sizes (bytes); return its folder.

    Others may write there too: what is larger than any model is none, and is not downloaded.
    """
    files = {key: size for key, size in sizes.items() if key.startswith(f"{place}/")}
    if not files:
        raise UserError(f"{store.uri} lists {place} and does not have it.")
    if len(files) > MOST_FILES or sum(files.values()) > MOST_BYTES:
        raise UserError(
            f"{store.uri}/{place} is no model: it has {len(files):,} files with {sum(files.values()):,} bytes, and at"
            f" most {MOST_FILES} with {MOST_BYTES:,} bytes are read."
        )
    for key, size in sorted(files.items()):
        fetch_listed(store, key, size, folder)
    return folder / place
