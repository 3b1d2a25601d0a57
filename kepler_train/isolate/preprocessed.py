"""The rows of a pipeline as CSV in a folder of its own, as earlier tools of Kepler name and read them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

from kepler_train.columns import NODE, TIME, WORKLOAD, power_columns
from kepler_train.extract.feature_groups import columns_of_group, group_columns
from kepler_train.extract.training_table import preprocessed_name, training_table, write_preprocessed
from kepler_train.isolate.isolation import attributed_file, isolated_node_file
from kepler_train.isolate.ordered_rows import OrderedRows
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.scratch import ScratchFolder
from kepler_train.spec import RunSpec

FOLDER = "preprocessed_data"


def write_preprocessed_data(node: pd.DataFrame, isolated: Path, spec: RunSpec) -> None:
    """Write a CSV for every output type, source and feature group, below the folder of isolated rows."""
    isolator = Isolation.model_validate_json((isolated / ISOLATION).read_bytes()).isolator
    (isolated / FOLDER).mkdir()

    def file_of(output_type: str, source: str, group: str) -> Path:
        return isolated / FOLDER / preprocessed_name(output_type, spec.extractor, isolator, source, group)

    for group in spec.feature_groups:
        if "AbsPower" in spec.output_types:
            features = columns_of_group(node, group, spec.thirdparty_metrics)
            for source in _sources(spec, power_columns(node)):
                table = training_table(node, features, source)
                write_preprocessed(table, file_of("AbsPower", source, group), spec.settled_node_type)
        if "DynPower" in spec.output_types:
            windows = pd.read_parquet(isolated / isolated_node_file(group), columns=[TIME, NODE, WORKLOAD])
            with ScratchFolder() as scratch:
                rows = OrderedRows([isolated / attributed_file(group)], windows, scratch)
                features = group_columns(rows.complete, group, spec.thirdparty_metrics)
                for source in _sources(spec, rows.power):
                    table_of_source = rows.table(features, source)
                    write_preprocessed(table_of_source, file_of("DynPower", source, group), spec.settled_node_type)


def _sources(spec: RunSpec, power: list[str]) -> list[str]:
    """Return the energy sources of a spec that measured any power."""
    return [source for source in spec.energy_sources if any(name.startswith(f"{source}/") for name in power)]


def copy_preprocessed_data(isolated: Path, home: Path) -> None:
    """Copy what was written into the folder of the pipeline."""
    if (isolated / FOLDER).is_dir():
        shutil.copytree(isolated / FOLDER, home / FOLDER)
