"""Feature groups as selections of the columns of a frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kepler_train.catalog import catalog
from kepler_train.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Selection:
    """The columns of a feature group by name, the features it lacks, and the optional ones left out, by feature set."""

    columns: list[str]
    missing: list[str]
    left_out: dict[str, list[str]]


def columns_of_group(rows: pd.DataFrame, group: str, third_party: list[str]) -> list[str]:
    """Return the columns to train on; refuse a group that lacks a required feature."""
    return group_columns(_complete(rows), group, third_party)


def group_columns(complete: Iterable[str], group: str, third_party: list[str]) -> list[str]:
    """Return the columns to train on, of the `complete` ones; refuse a group that lacks a required feature."""
    selection = select_columns(complete, group, third_party)
    if selection.missing:
        names = ", ".join(selection.missing)
        raise DataError(f"The data have no {names} of feature group {group}: choose another group.")
    return selection.columns


def select_group(rows: pd.DataFrame, group: str, third_party: list[str]) -> Selection:
    """Return the columns of a group with a value in every row: rows of several nodes have the same ones."""
    return select_columns(_complete(rows), group, third_party)


def _complete(rows: pd.DataFrame) -> list[str]:
    return [str(name) for name in rows.columns if not rows[name].isna().any()]


def select_columns(complete: Iterable[str], group: str, third_party: list[str]) -> Selection:
    """Return the columns of a group, of the `complete` ones, which have a value in every row.

    Features of optional sets may be missing; a series that is kept apart by a label has a column for each value of it.
    """
    complete = list(complete)
    optional = catalog().optional_features(group)
    columns: list[str] = []
    missing: list[str] = []
    left_out: dict[str, list[str]] = {}
    for feature in catalog().features_of(group, third_party):
        feature_columns = catalog().columns_of(feature, complete)
        columns += feature_columns
        if not feature_columns and feature in optional:
            left_out.setdefault(optional[feature], []).append(feature)
        elif not feature_columns:
            missing.append(feature)
    return Selection(sorted(columns), missing, {name: left_out[name] for name in sorted(left_out)})
