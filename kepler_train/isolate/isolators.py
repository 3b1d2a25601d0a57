"""Isolators by name: what each takes for idle power, and what is left when it is removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kepler_train.errors import UserError, unknown_name
from kepler_train.isolate.minimum import idle_power

if TYPE_CHECKING:  # the names are asked for where pandas is not needed
    import pandas as pd


def _nothing(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    return idle_power(frame, columns) * 0.0


# Idle power by node and column (W).
ISOLATORS: dict[str, Callable[[pd.DataFrame, list[str]], pd.DataFrame]] = {"none": _nothing, "min": idle_power}


def check_isolator(name: str) -> None:
    """Refuse an isolator that this version does not have."""
    if name not in ISOLATORS:
        raise UserError(f"This version cannot isolate by that name. {unknown_name('isolator', name, ISOLATORS)}")


def power_columns(frame: pd.DataFrame) -> list[str]:
    """The columns of a frame that hold power (W)."""
    return [name for name in frame.columns if name.endswith("_power")]


def isolate(frame: pd.DataFrame, isolator: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Dynamic power in place of power, and the idle power (W) that was removed by node; never below 0."""
    check_isolator(isolator)
    columns = power_columns(frame)
    idle = ISOLATORS[isolator](frame, columns)
    removed = idle.loc[frame["node"]].to_numpy()
    return frame.assign(**dict(zip(columns, (frame[columns].to_numpy() - removed).clip(min=0).T, strict=True))), idle
