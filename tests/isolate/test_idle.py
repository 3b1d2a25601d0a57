"""When a machine was idle, and what it needed then."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import file_of

from kepler_train.errors import DataError, UserError
from kepler_train.isolate.idle import idle_rows
from kepler_train.isolate.profile import profile_file, read_profile
from kepler_train.isolate.profiling import profile_node

POWER = "rapl-sysfs/package_power"


def node_rows(
    work: list[float], watts: list[float], workload: list[str] | None = None, every: int = 10
) -> pd.DataFrame:
    times = pd.date_range("2026-11-14T00:00:10", periods=len(work), freq=f"{every}s", tz="UTC")
    return pd.DataFrame({"time": times, "node": "a", "workload": workload or "", "cpu": work, POWER: watts})


def test_what_the_schedule_calls_idle_is_idle() -> None:
    rows = node_rows([5, 0, 5, 5], [50, 20, 60, 22], ["idle", "cpu", "cpu", "idle"])
    idle, chosen = idle_rows(rows, "cpu", seconds=20)
    assert (idle[POWER].tolist(), chosen) == ([50, 22], "schedule")


def test_too_short_an_idle_phase_gives_way_to_the_quietest_stretch() -> None:
    rows = node_rows([9, 1, 2, 9, 0], [90, 25, 30, 90, 20], ["cpu", "cpu", "cpu", "cpu", "idle"])
    idle, chosen = idle_rows(rows, "cpu", seconds=20)
    assert (idle["cpu"].tolist(), chosen) == ([1, 2], "history")


def test_quiet_is_little_work_not_little_power() -> None:
    rows = node_rows([4, 4, 1, 1], [10, 10, 20, 20])  # a meter that errs downwards under load
    idle, _ = idle_rows(rows, "cpu", seconds=20)
    assert idle[POWER].tolist() == [20, 20]


def test_a_stretch_never_crosses_a_gap() -> None:
    rows = node_rows([0, 0, 5, 5, 5], [20] * 5).drop(index=1)  # the second window was dropped
    idle, _ = idle_rows(rows, "cpu", seconds=20)
    assert idle["cpu"].tolist() == [5, 5]
    with pytest.raises(DataError, match="no 40 s without a gap"):
        idle_rows(rows, "cpu", seconds=40)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 50), min_size=3, max_size=40), st.integers(1, 3))
def test_no_other_stretch_is_quieter(work: list[int], windows: int) -> None:
    idle, _ = idle_rows(node_rows([float(w) for w in work], [1.0] * len(work)), "cpu", seconds=10 * windows)
    means = [np.mean(work[first : first + windows]) for first in range(len(work) - windows + 1)]
    assert len(idle) == windows
    assert idle["cpu"].mean() == pytest.approx(min(means))


def test_a_profile_has_the_mean_power_and_the_containers_that_ran(tmp_path: Path) -> None:
    rows = node_rows([1, 3, 9, 9], [20, 24, 90, 90], ["idle", "idle", "cpu", "cpu"])
    containers = pd.DataFrame(
        {
            "time": [*rows["time"][:2], rows["time"][2]],
            "node": "a",
            "container": ["kubelet", "kubelet", "stress"],
            "cpu": [1.0, 3.0, 9.0],
        }
    )
    with file_of(containers) as file:
        found = profile_node(rows, [file], "cpu", seconds=20, node_type=3, machine=None)
    assert found.power[POWER].model_dump() == {"mean": 22, "median": 22, "deviation": 2}
    assert found.containers == {"kubelet": {"cpu": 2}}
    assert found.usage == {"cpu": 2}
    assert (found.start, found.end) == (
        datetime(2026, 11, 14, tzinfo=UTC),
        datetime(2026, 11, 14, 0, 0, 20, tzinfo=UTC),
    )
    profile_file(tmp_path, 3).write_text(found.model_dump_json())
    assert read_profile(tmp_path, 3) == found
    assert read_profile(tmp_path, 4) is None


def test_a_profile_of_another_node_type_or_a_broken_one_is_refused(tmp_path: Path) -> None:
    rows = node_rows([1, 1], [20, 20])
    with file_of(rows.iloc[:0][["time", "node", "cpu"]].assign(container="")) as file:
        found = profile_node(rows, [file], "cpu", seconds=20, node_type=0, machine=None)
    profile_file(tmp_path, 1).write_text(found.model_dump_json())
    with pytest.raises(UserError, match="of node type 0, not of 1"):
        read_profile(tmp_path, 1)
    profile_file(tmp_path, 2).write_text('{"node_type": 2')
    with pytest.raises(UserError, match="not a background profile"):
        read_profile(tmp_path, 2)
