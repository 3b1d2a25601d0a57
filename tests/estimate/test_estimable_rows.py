"""Rows to estimate come some whole windows at a time, and all figures are those of the rows together."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from kepler_train.estimate.estimable_rows import EstimableRows
from kepler_train.estimate.summary import ComponentFigures
from kepler_train.isolate.ordered_rows import OrderedRows

MOMENTS = [1_794_614_415.0, 1_794_614_430.0, 1_794_614_445.5]  # Unix s


def rows_in_parts(folder: Path, moments: list[float]) -> EstimableRows:
    """Containers b and a, one after the other as extraction writes them, in two windows each; the third has nobody."""
    times = pd.to_datetime(moments, unit="s", utc=True)
    node = pd.DataFrame({"time": times, "node": "n", "workload": ["", "", "cpu"][: len(moments)]})
    work = {"b": [1.0, 2.0], "a": [3.0, 4.0]}
    containers = [
        pd.DataFrame({"time": times[:2], "node": "n", "container": name, "bpf_cpu_time_ms": values})
        for name, values in work.items()
    ]
    pd.concat(containers).to_parquet(folder / "containers.parquet", index=False)
    return EstimableRows.ordered(OrderedRows([folder / "containers.parquet"], node, folder, rows=1))


def test_each_part_holds_whole_windows_by_time_and_container(tmp_path: Path) -> None:
    rows = rows_in_parts(tmp_path, MOMENTS)
    parts = [list(zip(part["container"], part["bpf_cpu_time_ms"], strict=True)) for part in rows.parts()]
    assert parts == [[("a", 3.0), ("b", 1.0)], [("a", 4.0), ("b", 2.0)]]
    assert (rows.count, rows.nodes) == (4, 1)
    assert rows.together().index.tolist() == [0, 1, 2, 3]


def test_a_window_without_containers_says_nothing_of_labels_and_times(tmp_path: Path) -> None:
    rows = rows_in_parts(tmp_path, MOMENTS)  # only the third has a workload, and half a second
    assert rows.labels == ["time", "node", "container"]
    assert [rows.unix_seconds(part["time"]).tolist() for part in rows.parts()] == [[MOMENTS[0]] * 2, [MOMENTS[1]] * 2]
    assert {str(rows.unix_seconds(part["time"]).dtype) for part in rows.parts()} == {"int64"}


def test_half_a_second_in_one_part_makes_all_times_floats(tmp_path: Path) -> None:
    rows = rows_in_parts(tmp_path, [MOMENTS[0], MOMENTS[2]])
    assert {str(rows.unix_seconds(part["time"]).dtype) for part in rows.parts()} == {"float64"}


@pytest.mark.parametrize("cut", [1, 3])
def test_figures_of_parts_are_those_of_all_rows(cut: int) -> None:
    estimated = pd.DataFrame(
        {
            "predicted": [10.0, 20.0, 30.0, 40.0],
            "low": [9.0, 19.0, 29.0, 39.0],
            "high": [11.0, 21.0, 31.0, 41.0],
            "measured": [10.5, 24.0, None, 41.0],
            "outside": [False, True, True, False],
        }
    )
    figures = ComponentFigures()
    for part in (estimated[:cut], estimated[cut:]):
        figures.add(part)
    assert (figures.mean, figures.outside, figures.measured) == (25.0, 2, 3)
    assert figures.off == pytest.approx((0.5 + 4.0 + 1.0) / 3)
    assert figures.inside == pytest.approx(2 / 3)
