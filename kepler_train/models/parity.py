"""What is served is what was judged: every format of a saved model, against the model that was trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kepler_train.errors import DataError
from kepler_train.models.component import Watts
from kepler_train.models.files import GRAPH
from kepler_train.models.fresh import NATIVE, predictions_elsewhere
from kepler_train.models.power import PowerModel

if TYPE_CHECKING:
    import pandas as pd

# A saved model may differ from the trained one by this many W in any row, or by this share of its power.
WATTS, SHARE = 0.01, 1e-4
# Graphs compute in float32.
GRAPH_WATTS = 0.05


@dataclass(frozen=True)
class Parity:
    """The largest difference (W) of each format, and why a file is refused."""

    largest: dict[str, float]
    refused: dict[str, str]


def check_parity(trained: PowerModel, folder: Path, rows: pd.DataFrame) -> Parity:
    """Compare what a process that did not train it reads from a folder with the trained model, on all rows."""
    columns = trained.columns_of(rows)
    before = trained.watts(columns)
    found = predictions_elsewhere(folder, columns)
    largest: dict[str, float] = {}
    refused = dict(found.errors)
    for (name, component), watts in found.watts.items():
        off, limit = np.abs(watts - before[component]), _limit(name, before[component])
        largest[name] = max(largest.get(name, 0.0), float(off.max(initial=0.0)))
        if not (off <= limit).all():  # also refuses NaN
            worst = int(np.argmax(np.where(np.isnan(off), np.inf, off - limit)))
            refused.setdefault(
                name,
                f"it gives {watts[worst]:.6g} W of {component} power where the trained model gives"
                f" {before[component][worst]:.6g} W",
            )
    if NATIVE in refused:
        why = refused[NATIVE].rstrip(".").replace(f"{folder}/", "")  # a folder that nobody will find
        raise DataError(f"The saved model {trained.name} is not kept, because {why}.")
    return Parity({name: value for name, value in largest.items() if name not in refused}, refused)


def _limit(name: str, watts: Watts) -> Watts:
    if name.endswith(GRAPH):
        return np.full(len(watts), GRAPH_WATTS)
    return np.maximum(WATTS, SHARE * np.abs(watts))
