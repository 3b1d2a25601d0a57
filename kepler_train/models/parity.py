"""The parity check: every format of a saved model must predict what the trained model predicts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kepler_train.errors import DataError
from kepler_train.models.component import Watts
from kepler_train.models.files import GRAPH
from kepler_train.models.power import PowerModel
from kepler_train.models.reload_process import NATIVE, reloaded_predictions

if TYPE_CHECKING:
    import pandas as pd

# A saved model may differ from the trained one by this many W in any row, or by this share of its power.
WATTS, SHARE = 0.01, 1e-4
# Graphs compute in float32.
GRAPH_WATTS = 0.05


@dataclass(frozen=True)
class Parity:
    """The largest difference (W) of each format, and the reasons why files are refused."""

    largest: dict[str, float]
    refused: dict[str, str]


def check_parity(trained: PowerModel, folder: Path, rows: pd.DataFrame) -> Parity:
    """Compare what another process reads from a folder with the trained model, on all rows.

    Return the differences. Refuse the model when its own files differ.
    """
    columns = trained.columns_of(rows)
    expected = trained.watts(columns)
    reloaded = reloaded_predictions(folder, columns)
    largest: dict[str, float] = {}
    refused = dict(reloaded.errors)
    for (name, component), watts in reloaded.watts.items():
        difference, limit = np.abs(watts - expected[component]), _limit(name, expected[component])
        largest[name] = max(largest.get(name, 0.0), float(difference.max(initial=0.0)))
        if not (difference <= limit).all():  # also refuses NaN
            worst = int(np.argmax(np.where(np.isnan(difference), np.inf, difference - limit)))
            refused.setdefault(
                name,
                f"it gives {watts[worst]:.6g} W of {component} power where the trained model gives"
                f" {expected[component][worst]:.6g} W",
            )
    if NATIVE in refused:
        reason = refused[NATIVE].rstrip(".").replace(f"{folder}/", "")  # a temporary folder means nothing to users
        raise DataError(f"The saved model {trained.name} is not kept, because {reason}.")
    return Parity({name: value for name, value in largest.items() if name not in refused}, refused)


def _limit(name: str, watts: Watts) -> Watts:
    if name.endswith(GRAPH):
        return np.full(len(watts), GRAPH_WATTS)
    return np.maximum(WATTS, SHARE * np.abs(watts))
