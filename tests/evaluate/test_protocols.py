"""Who is held out, and who never sees whom."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.evaluate.protocols import GAP, Protocol, all_splits, gap_of, splits
from kepler_train.extract.row_times import RowTimes, workloads_or_blocks

SECONDS = 15
HONEST = [Protocol.BLOCKED, Protocol.WORKLOAD, Protocol.FORWARD]


def frame(workloads: list[str], node: str = "a") -> pd.DataFrame:
    times = pd.date_range("2026-11-14", periods=len(workloads), freq=f"{SECONDS}s", tz="UTC")
    return pd.DataFrame({"time": times, "node": node, "workload": workloads})


def cut(
    protocol: Protocol, rows: pd.DataFrame, folds: int = 5, seed: int = 0, gap: int = 0
) -> list[tuple[list[int], list[int]]]:
    found = splits(protocol, RowTimes.of(rows), folds, seed, gap)
    return [(inside.tolist(), outside.tolist()) for inside, outside in found]


@given(st.integers(2, 200), st.integers(2, 20), st.integers(0, 5))
def test_blocked_and_shuffled_hold_every_row_out_exactly_once(count: int, folds: int, seed: int) -> None:
    for protocol in (Protocol.BLOCKED, Protocol.SHUFFLED):
        seen = []
        for inside, outside in cut(protocol, frame(["cpu"] * count), folds, seed):
            assert not set(inside) & set(outside)
            assert len(inside) + len(outside) == count
            if protocol is Protocol.BLOCKED:
                assert outside == list(range(outside[0], outside[-1] + 1))  # contiguous
            seen += outside
        assert sorted(seen) == list(range(count))


loads = st.lists(st.sampled_from(["idle", "cpu", "vm", "cache"]), min_size=1, max_size=60)


@given(loads)
def test_a_load_that_is_left_out_is_never_trained_on_in_whichever_phases_it_ran(workloads: list[str]) -> None:
    rows = frame(workloads)
    left_out = []
    for inside, outside in cut(Protocol.WORKLOAD, rows):
        (load,) = set(rows["workload"].iloc[outside])
        assert load not in set(rows["workload"].iloc[inside])
        assert len(inside) + len(outside) == len(rows)
        left_out.append(load)
    others = sorted(set(workloads) - {"idle"})
    assert left_out == (others if len(others) > 1 else [])  # the only load there is cannot be left out


@given(loads, loads, st.integers(0, 6), st.integers(2, 6), st.sampled_from(HONEST))
def test_no_training_row_is_within_the_gap_of_a_held_out_row_of_its_node(
    first: list[str], second: list[str], gap: int, folds: int, protocol: Protocol
) -> None:
    rows = pd.concat([frame(first, "a"), frame(second, "b")], ignore_index=True)
    times = (rows["time"] - rows["time"].min()).dt.total_seconds().to_numpy()
    for inside, outside in cut(protocol, rows, folds, gap=gap):
        same = rows["node"].to_numpy()[inside][:, None] == rows["node"].to_numpy()[outside]
        apart = np.abs(times[inside][:, None] - times[outside])
        assert (apart[same] > gap * SECONDS).all()
        # … and every row further away is there
        near = (np.abs(times[:, None] - times[outside]) <= gap * SECONDS) & (
            rows["node"].to_numpy()[:, None] == rows["node"].to_numpy()[outside]
        )
        assert inside == np.flatnonzero(~near.any(axis=1)).tolist()


def test_blocks_of_ten_rows_leave_a_gap_of_four_on_both_sides() -> None:
    second = cut(Protocol.BLOCKED, frame(["cpu"] * 50), folds=5, gap=GAP)[1]
    assert second == ([*range(6), *range(24, 50)], [*range(10, 20)])


def test_rows_on_the_other_side_of_a_hole_in_the_data_are_far_away() -> None:
    rows = frame(["cpu"] * 40)
    rows.loc[20:, "time"] += pd.Timedelta("1h")
    assert cut(Protocol.BLOCKED, rows, folds=2, gap=GAP) == [
        ([*range(20, 40)], [*range(20)]),
        ([*range(20)], [*range(20, 40)]),
    ]


def test_forward_learns_from_the_first_seven_tenths_of_each_node_and_is_judged_once() -> None:
    rows = pd.concat([frame(["cpu"] * 20, "a"), frame(["vm"] * 10, "b")], ignore_index=True)
    assert cut(Protocol.FORWARD, rows, gap=2) == [
        ([*range(12), *range(20, 25)], [*range(14, 20), *range(27, 30)]),
    ]


@pytest.mark.parametrize(
    ("rows", "folds", "lags", "expected"),
    [(2400, 5, 0, 4), (10, 5, 0, 1), (10, 5, 2, 2), (2400, 5, 6, 6), (4, 5, 0, 0)],
)
def test_the_gap_is_never_shorter_than_a_lag_and_leaves_something_to_learn_from(
    rows: int, folds: int, lags: int, expected: int
) -> None:
    assert gap_of(rows, folds, lags) == expected


def test_what_two_protocols_cut_alike_is_one_split() -> None:
    rows = workloads_or_blocks(frame([""] * 60), folds=5)  # no schedule: blocks are the workloads
    found = all_splits(rows, 5, 0)
    assert [split.protocols for split in found] == [
        *[(Protocol.SHUFFLED,)] * 5,
        *[(Protocol.BLOCKED, Protocol.WORKLOAD)] * 5,
        (Protocol.FORWARD,),
    ]


def test_shuffled_folds_are_the_same_for_the_same_seed() -> None:
    rows = frame(["cpu"] * 40)
    first, again, other = (cut(Protocol.SHUFFLED, rows, 4, seed) for seed in (1, 1, 2))
    assert first == again != other


def test_without_a_schedule_blocks_of_time_stand_for_workloads() -> None:
    rows = workloads_or_blocks(frame([""] * 40).sample(frac=1, random_state=0), folds=4)
    assert rows["workload"].unique().tolist() == ["block 1", "block 2", "block 3", "block 4"]
    assert rows["workload"].value_counts().tolist() == [10] * 4
    assert rows["time"].is_monotonic_increasing


def test_every_node_is_cut_into_the_same_blocks() -> None:
    rows = workloads_or_blocks(pd.concat([frame([""] * 40, "a"), frame([""] * 20, "b")]), folds=2)
    assert rows.groupby(["node", "workload"]).size().tolist() == [20, 20, 10, 10]


def test_with_a_schedule_rows_of_no_workload_are_left_out() -> None:
    rows = workloads_or_blocks(frame(["cpu", "", "vm", ""]), folds=4)
    assert rows["workload"].tolist() == ["cpu", "vm"]
    assert rows.index.tolist() == [0, 1]


@pytest.mark.parametrize("folds", [2, 8])
def test_no_rows_are_no_rows(folds: int) -> None:
    assert len(workloads_or_blocks(frame([]), folds)) == 0
