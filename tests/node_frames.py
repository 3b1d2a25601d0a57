"""Node and container rows of samples, extracted in memory as pandas frames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from kepler_train.extract.node_extraction import extractions
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec


@dataclass(frozen=True)
class NodeFrames:
    """The rows of one node."""

    node: pd.DataFrame
    containers: pd.DataFrame
    dropped: int  # windows without complete data


def node_frames(samples: Path, spec: RunSpec, dialect_name: str, schedule: Schedule) -> dict[str, NodeFrames]:
    """Return the frames of every node in the samples."""
    frames = {}
    for extraction in extractions(samples, spec, dialect_name, schedule):
        containers = pa.concat_tables(extraction.containers()).unify_dictionaries().to_pandas()
        frames[extraction.name] = NodeFrames(extraction.node().to_pandas(), containers, extraction.dropped)
    return frames
