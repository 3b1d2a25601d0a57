"""The rows of a pipeline as CSV in a folder of its own, as earlier tools of Kepler name and read them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

from kepler_train.columns import power_columns
from kepler_train.extract.feature_groups import columns_of_group
from kepler_train.extract.training_table import preprocessed_name, training_table, write_preprocessed
from kepler_train.isolate.isolation import attributed_file
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.spec import RunSpec

FOLDER = "preprocessed_data"


def write_preprocessed_data(node: pd.DataFrame, isolated: Path, spec: RunSpec) -> None:
    """Write a CSV for every output type, source and feature group, below the folder of isolated rows."""
    isolator = Isolation.model_validate_json((isolated / ISOLATION).read_bytes()).isolator
    (isolated / FOLDER).mkdir()
    for group in spec.feature_groups:
        for output_type in spec.output_types:
            rows = node if output_type == "AbsPower" else pd.read_parquet(isolated / attributed_file(group))
            features = columns_of_group(rows, group, spec.thirdparty_metrics)
            for source in spec.energy_sources:
                if any(name.startswith(f"{source}/") for name in power_columns(rows)):
                    name = preprocessed_name(output_type, spec.extractor, isolator, source, group)
                    write_preprocessed(training_table(rows, features, source), isolated / FOLDER / name, spec.node_type)


def copy_preprocessed_data(isolated: Path, home: Path) -> None:
    """Copy what was written into the folder of the pipeline."""
    if (isolated / FOLDER).is_dir():
        shutil.copytree(isolated / FOLDER, home / FOLDER)
