"""Features of earlier windows stand beside those of a row."""

from __future__ import annotations

import pandas as pd

from kepler_train.models.lags import lagged_names, lags_of, with_lags, without_lag


def windows(node: str, seconds: list[int], cycles: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"time": pd.to_datetime(seconds, unit="s", utc=True), "node": node, "cpu_cycles": cycles})


def test_a_row_has_the_windows_before_it() -> None:
    found = with_lags(windows("a", [0, 3, 6, 9], [1, 2, 3, 4]), ["cpu_cycles"], 2)
    assert found["cpu_cycles@-1"].tolist() == [1, 1, 2, 3]  # the first window has none before it: its load was the same
    assert found["cpu_cycles@-2"].tolist() == [1, 1, 1, 2]


def test_no_window_is_taken_from_before_a_gap() -> None:
    found = with_lags(windows("a", [0, 3, 6, 60, 63], [1, 2, 3, 4, 5]), ["cpu_cycles"], 1)
    assert found["cpu_cycles@-1"].tolist() == [1, 1, 2, 4, 4]


def test_no_window_is_taken_from_another_node() -> None:
    frame = pd.concat([windows("a", [0, 3], [1, 2]), windows("b", [0, 3], [10, 20])], ignore_index=True)
    mixed = frame.iloc[[3, 0, 2, 1]].reset_index(drop=True)  # rows may come in any order
    assert with_lags(mixed, ["cpu_cycles"], 1)["cpu_cycles@-1"].tolist() == [10, 1, 10, 1]


def test_rows_without_a_time_are_taken_as_steady() -> None:
    found = with_lags(pd.DataFrame({"cpu_cycles": [1.0, 2.0]}), ["cpu_cycles"], 1)
    assert found["cpu_cycles@-1"].tolist() == [1, 2]


def test_names_say_which_window_of_which_feature() -> None:
    names = lagged_names(["cpu_cycles", "cache_miss"], 2)
    assert names == ["cpu_cycles", "cache_miss", "cpu_cycles@-1", "cache_miss@-1", "cpu_cycles@-2", "cache_miss@-2"]
    assert [without_lag(name) for name in names] == ["cpu_cycles", "cache_miss"] * 3
    assert (lags_of(names), lags_of(["cpu_cycles"])) == (2, 0)
