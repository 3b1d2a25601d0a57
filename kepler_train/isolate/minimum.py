"""Isolate `min`: per node and component, the least power seen is taken for idle (W)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def idle_power(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The minimum of each power column by node (W)."""
    return frame.groupby("node")[columns].min()
