"""A run's files: in a folder or on S3, atomic, with manifests."""

from kepler_train.workspace.failures import failure_reasons
from kepler_train.workspace.fetching import fetch_listed, fetch_recorded
from kepler_train.workspace.layout import Run, files_of, name_of, part_of
from kepler_train.workspace.manifest import Figures, FileRecord, InputRecord, Manifest
from kepler_train.workspace.step import Inputs, Step
from kepler_train.workspace.stores import FileStore, open_store

__all__ = [
    "Figures",
    "FileRecord",
    "FileStore",
    "InputRecord",
    "Inputs",
    "Manifest",
    "Run",
    "Step",
    "failure_reasons",
    "fetch_listed",
    "fetch_recorded",
    "files_of",
    "name_of",
    "open_store",
    "part_of",
]
