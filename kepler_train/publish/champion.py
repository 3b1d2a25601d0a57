"""The version that is `latest` beside one that is about to be published: what each has, and which is better."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kepler_train.errors import KeplerTrainError, TryAgain, UserError
from kepler_train.evaluate.comparison import Comparison
from kepler_train.evaluate.window_rows import rows_in
from kepler_train.events import warn
from kepler_train.export.arguments import TrainArguments
from kepler_train.export.champion import compare_with
from kepler_train.export.published_table import read_table
from kepler_train.model_key import Family, error_table, model_name
from kepler_train.models.artifact import read_metadata
from kepler_train.models.files import METADATA
from kepler_train.publish.fetch import fetch_model
from kepler_train.publish.promotion import Candidate, Judge, Promote, Promotion, decide
from kepler_train.publish.target import Target
from kepler_train.scratch import ScratchFolder
from kepler_train.workspace import FileStore


def judge_of(
    target: Target,
    pipeline: str,
    exported: Path,
    version: str,
    kept: Comparison | None,
    promote: Promote,
) -> Judge:
    """Return what tells, given the version that is `latest` at a target, whether an exported one may take its place.

    `kept` is the comparison of the export step; it is made again when `latest` has moved since the run was planned.
    """

    @cache
    def judge(latest: str) -> Promotion:
        if not latest or latest == version or promote != "better":
            return decide(Candidate(version), Candidate(latest) if latest else None, None, promote)
        node_type = TrainArguments.read(exported).node_type or 0
        store, home = target.store, f"{pipeline}/{latest}"
        keys = sorted(store.sizes(home))
        champion = Candidate(latest, _families((key.removeprefix(f"{home}/") for key in keys), node_type))
        if not champion.families:
            return Promotion(True, f"It is the first version of node type {node_type}.")
        comparison = kept if kept and kept.champion == latest else _compared(store, home, latest, exported, node_type)
        return decide(_exported(exported, version, node_type), champion, comparison, promote)

    return judge


def _exported(folder: Path, version: str, node_type: int) -> Candidate:
    files = [path.relative_to(folder).as_posix() for path in folder.glob(f"*/*/*/*/{METADATA}")]
    models = [folder / name for name in files if _family(name, node_type)]
    try:
        metadata = [read_metadata(model.parent) for model in models]
    except UserError:  # an earlier tool wrote them
        metadata = []
    return Candidate(
        version,
        _families(files, node_type),
        max((data.rows for data in metadata), default=0),
        max((len(data.workloads) for data in metadata), default=0),
    )


def _families(files: Iterable[str], node_type: int) -> frozenset[Family]:
    return frozenset(family for name in files if (family := _family(name, node_type)))


def _family(file: str, node_type: int) -> Family | None:
    """Return the family of a model by its metadata file; None for other files, and models of other node types."""
    match = re.fullmatch(rf"([^/]+)/([^/]+)/([^/]+)/[^/]+{model_name('', node_type)}/{METADATA}", file)
    return Family(*match.groups()) if match else None


def _compared(store: FileStore, home: str, version: str, exported: Path, node_type: int) -> Comparison | None:
    """Return the comparison with a version at a store; None, with a warning, where that cannot be read."""
    try:
        with ScratchFolder() as folder:
            for rows in rows_in(exported, node_type):
                key = rows.model
                fetch_best(store, home, key.source, key.output_type, node_type, folder)
            return compare_with(folder, version, exported, node_type)
    except TryAgain:
        raise  # the champion may be good, and must not be replaced because nobody looked
    except KeplerTrainError as error:
        warn(f"The version {version} is not compared with: {error}")
        return None


def fetch_best(store: FileStore, home: str, source: str, output_type: str, node_type: int, folder: Path) -> Path | None:
    """Copy the best model of a source, an output type and a node type from a pipeline at a store.

    It is copied to `<folder>/<source>/<output type>/<group>/<model>`; None where there is no such model.
    """
    file = f"{home}/{error_table(source, output_type)}"
    listed = read_table(store.read(file), file)
    best = next((model for model in listed if model.name.endswith(model_name("", node_type))), None)
    if best is None:
        return None
    place = f"{Family(source, output_type, best.group)}/{best.name}"
    sizes = store.sizes(f"{home}/{place}")
    with ScratchFolder() as scratch:
        return Path(shutil.copytree(fetch_model(store, sizes, f"{home}/{place}", scratch), folder / place))
