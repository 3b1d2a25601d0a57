"""The rows of a window that a version was judged by, kept with it: later and earlier versions can be judged by them.

One table for each source, output type and node type: time, node, workload, all features (1/s), and for every component
the power that was measured and what the best model predicted for rows it had not seen, in blocks of time and under
unseen load.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.arrays import Bools, Floats
from kepler_train.columns import NODE, TIME, WORKLOAD, is_power
from kepler_train.errors import UserError
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.extract.row_times import RowTimes
from kepler_train.model_key import ModelKey, table_name
from kepler_train.models.lags import MARK

FOLDER = "held_out"
# More rows tell nothing more of a window; every so many-th is kept.
MOST_ROWS = 20_000
_MODEL, _FOLDS = b"kepler_train.model", b"kepler_train.folds"
_MEASURED, _BLOCKED, _UNSEEN = "measured", "blocked", "unseen"


def features_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return when and where rows are, under which load, and their features (1/s), in half the bytes."""
    features = [
        name
        for name in rows.columns
        if name not in (TIME, NODE, WORKLOAD)
        and not is_power(name)
        and MARK not in name
        and pd.api.types.is_numeric_dtype(rows[name])
    ]
    return rows[[TIME, NODE, WORKLOAD, *features]].astype(dict.fromkeys(features, np.float32))


@dataclass(frozen=True)
class WindowRows:
    """The rows of a window, sorted by node and time, and the model whose held-out predictions stand beside them."""

    frame: pd.DataFrame
    model: ModelKey
    folds: int

    @classmethod
    def of(cls, features: pd.DataFrame, held_out: HeldOut, model: ModelKey, folds: int) -> WindowRows:
        """Return the rows of a window with what a model predicted for them when they were held out."""
        places = pd.MultiIndex.from_frame(features[[NODE, TIME]])
        nodes = np.asarray(held_out.node.names, dtype=object)[held_out.node.codes]
        times = pd.to_datetime(held_out.time, utc=True)
        columns: dict[str, npt.NDArray[np.float64]] = {}
        for protocol, component, rows in held_out.pieces:
            name = {Protocol.BLOCKED: _BLOCKED, Protocol.WORKLOAD: _UNSEEN}.get(Protocol(protocol))
            if name is None:
                continue
            at = places.get_indexer(pd.MultiIndex.from_arrays([nodes[rows], times[rows]]))
            for column, of in ((name, "predicted"), (_MEASURED, "measured")):
                watts = columns.setdefault(f"{component}:{column}", np.full(len(features), np.nan))
                watts[at] = held_out.columns[of][rows]
        frame = features.assign(**columns)
        step = -(-len(frame) // MOST_ROWS)
        return cls(frame.iloc[::step].reset_index(drop=True), model, folds)

    @property
    def components(self) -> list[str]:
        """Return the components whose power was measured."""
        suffix = f":{_MEASURED}"
        return [name.removesuffix(suffix) for name in self.frame.columns if name.endswith(suffix)]

    @property
    def workloads(self) -> npt.NDArray[Any]:
        """Return the workload of each row."""
        return self.frame[WORKLOAD].to_numpy(dtype=object)

    def measured(self, component: str) -> Floats:
        """Return the measured power of a component (W); NaN for a row that was never held out."""
        return self._watts(component, _MEASURED)

    def blocked(self, component: str) -> Floats:
        """Return what the model predicted (W) without the block of time that holds the row."""
        return self._watts(component, _BLOCKED)

    def unseen(self, component: str) -> Floats:
        """Return what the model predicted (W) without the row's workload; NaN for idle, which no model is without."""
        return self._watts(component, _UNSEEN)

    def known_elsewhere(self) -> Bools:
        """Return which rows are of a workload that also ran outside of their block of time."""
        blocks = RowTimes.of(self.frame).blocks(self.folds)
        pairs = pd.DataFrame({"workload": self.workloads, "block": blocks})
        return np.asarray(pairs.groupby("workload")["block"].transform("nunique") > 1, dtype=bool)

    def _watts(self, component: str, what: str) -> Floats:
        name = f"{component}:{what}"
        if name not in self.frame.columns:
            return np.full(len(self.frame), np.nan)
        return self.frame[name].to_numpy(dtype=np.float64)

    def write(self, home: Path, node_type: int) -> None:
        """Write the table of a node type to the folder of a pipeline."""
        file = home / rows_file(self.model.source, self.model.output_type, node_type)
        file.parent.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pandas(self.frame, preserve_index=False)
        about = {_MODEL: str(self.model).encode(), _FOLDS: str(self.folds).encode()}
        pq.write_table(table.replace_schema_metadata((table.schema.metadata or {}) | about), file, compression="zstd")

    @classmethod
    def read(cls, file: Path) -> WindowRows:
        """Read what `write` wrote; refuse anything else in one sentence."""
        try:
            table = pq.read_table(file)
            about = table.schema.metadata or {}
            frame = table.replace_schema_metadata(None).to_pandas()
            rows = cls(frame, ModelKey.parse(about[_MODEL].decode()), int(about[_FOLDS]))
            rows.frame[[TIME, NODE, WORKLOAD]]
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            what = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"{file.name} does not hold the rows of a window: {what}.") from None
        return rows


def rows_in(home: Path, node_type: int) -> list[WindowRows]:
    """Return the rows that the models of a node type in the folder of a pipeline were judged by."""
    return [WindowRows.read(file) for file in sorted((home / rows_folder(node_type)).glob("*.parquet"))]


def rows_folder(node_type: int) -> str:
    """Return the folder of the rows of a node type, in that of a pipeline."""
    return f"{FOLDER}/node_type_{node_type}"


def rows_file(source: str, output_type: str, node_type: int) -> str:
    """Return the table of a source, an output type and a node type in the folder of a pipeline."""
    return f"{rows_folder(node_type)}/{table_name(source, output_type)}.parquet"
