"""A run's files: in a folder or on S3, atomic, with manifests."""

from kepler_train.workspace.layout import Run
from kepler_train.workspace.manifest import Figures, FileRecord, InputRecord, Manifest
from kepler_train.workspace.runner import Inputs, Step, run_step
from kepler_train.workspace.stores import Store, open_store

__all__ = [
    "Figures",
    "FileRecord",
    "InputRecord",
    "Inputs",
    "Manifest",
    "Run",
    "Step",
    "Store",
    "open_store",
    "run_step",
]
