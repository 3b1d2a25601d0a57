"""Who is held out, and who never sees whom."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.train.protocols import Protocol, splits, workloads_or_blocks


def frame(workloads: list[str]) -> pd.DataFrame:
    times = pd.date_range("2026-11-14", periods=len(workloads), freq="15s", tz="UTC")
    return pd.DataFrame({"time": times, "node": "a", "workload": workloads})


@given(st.integers(2, 200), st.integers(2, 20), st.integers(0, 5))
def test_blocked_and_shuffled_hold_every_row_out_exactly_once(count: int, folds: int, seed: int) -> None:
    for protocol in (Protocol.BLOCKED, Protocol.SHUFFLED):
        seen = []
        for inside, outside in splits(protocol, frame(["cpu"] * count), folds, seed):
            assert not set(inside) & set(outside)
            assert len(inside) + len(outside) == count
            if protocol is Protocol.BLOCKED and len(outside):
                assert np.diff(outside).tolist() == [1] * (len(outside) - 1)  # contiguous
            seen += outside.tolist()
        assert sorted(seen) == list(range(count))


@given(st.lists(st.sampled_from(["idle", "cpu", "vm", "cache"]), min_size=1, max_size=60))
def test_a_load_that_is_left_out_is_never_trained_on(workloads: list[str]) -> None:
    rows = frame(workloads)
    left_out = []
    for inside, outside in splits(Protocol.WORKLOAD, rows, 8, 0):
        (load,) = set(rows["workload"].iloc[outside])
        assert load not in set(rows["workload"].iloc[inside])
        assert len(inside) + len(outside) == len(rows)
        left_out.append(load)
    assert left_out == sorted(set(workloads) - {"idle"})


def test_shuffled_folds_are_the_same_for_the_same_seed() -> None:
    rows = frame(["cpu"] * 40)
    first, again, other = (
        [outside.tolist() for _, outside in splits(Protocol.SHUFFLED, rows, 4, seed)] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_without_a_schedule_blocks_of_time_stand_for_workloads() -> None:
    rows = workloads_or_blocks(frame([""] * 40).sample(frac=1, random_state=0), folds=4)
    assert rows["workload"].unique().tolist() == ["block 1", "block 2", "block 3", "block 4"]
    assert rows["workload"].value_counts().tolist() == [10] * 4
    assert rows["time"].is_monotonic_increasing


def test_with_a_schedule_rows_of_no_workload_are_left_out() -> None:
    rows = workloads_or_blocks(frame(["cpu", "", "vm", ""]), folds=4)
    assert rows["workload"].tolist() == ["cpu", "vm"]
    assert rows.index.tolist() == [0, 1]


@pytest.mark.parametrize("folds", [2, 8])
def test_no_rows_are_no_rows(folds: int) -> None:
    assert len(workloads_or_blocks(frame([]), folds)) == 0
