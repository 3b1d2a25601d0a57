"""Do containers add up to their node?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kepler_train.evaluate import additivity
from kepler_train.evaluate.additivity import MOST_ROWS, additivity_error
from kepler_train.models import Fitted, LinearModel, PowerModel

CPU = ["bpf_cpu_time_ms"]


def containers(windows: int, names: list[str], file: Path) -> Path:
    """Every container used 100 ms/s in every window."""
    times = pd.date_range("2026-11-14", periods=windows, freq="3s", tz="UTC")
    every = pd.MultiIndex.from_product([times, names], names=["time", "container"]).to_frame(index=False)
    every.assign(node="a", bpf_cpu_time_ms=100.0, package_power=1.0).to_parquet(file, index=False)
    return file


def model(bias: float) -> PowerModel:
    part = LinearModel(bias, np.array([2.0]), np.array([100.0]))
    return PowerModel("LinearRegressionTrainer", 0, {"package": Fitted(CPU, part)})


def test_a_bias_counts_once_per_container_and_once_for_the_node(tmp_path: Path) -> None:
    file = containers(20, ["x", "y", "z", "unattributed"], tmp_path / "containers.parquet")
    assert additivity_error(model(5.0), file) == {"package": pytest.approx(2 * 5.0)}  # three times 5 W less once
    assert additivity_error(model(0.0), file) == {"package": pytest.approx(0.0)}


def test_of_many_containers_some_windows_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = containers(300, [f"c{number}" for number in range(40)], tmp_path / "containers.parquet")
    asked: list[int] = []
    plain = PowerModel.watts
    monkeypatch.setattr(
        PowerModel, "watts", lambda self, columns: asked.append(len(columns[CPU[0]])) or plain(self, columns)
    )
    assert additivity_error(model(1.0), file) == {"package": pytest.approx(39.0)}
    assert asked == [MOST_ROWS, MOST_ROWS // 40]


@pytest.mark.parametrize("names", [[], ["unattributed"], ["all containers"], ["x", "unattributed"]])
def test_without_two_containers_in_a_window_there_is_nothing_to_add_up_and_no_figure(
    names: list[str], tmp_path: Path
) -> None:
    assert additivity_error(model(5.0), containers(20, names, tmp_path / "containers.parquet")) is None


def test_windows_of_one_container_count_where_others_have_two(tmp_path: Path) -> None:
    file = containers(20, ["x", "y"], tmp_path / "containers.parquet")
    rows = pd.read_parquet(file)
    rows[(rows["container"] == "x") | (rows["time"] < rows["time"].iloc[20])].to_parquet(
        file, index=False
    )  # y goes at half-time
    assert additivity_error(model(5.0), file) == {"package": pytest.approx(5.0 / 2)}


def test_the_rows_of_a_file_are_read_once_wherever_it_is_linked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = containers(20, ["x", "y"], tmp_path / "containers.parquet")
    read: list[Path] = []
    plain = additivity.read_batches
    monkeypatch.setattr(additivity, "read_batches", lambda file, *more: read.append(file) or plain(file, *more))
    for number in range(3):
        link = tmp_path / f"step {number}.parquet"
        link.hardlink_to(file)
        assert additivity_error(model(5.0), link) == {"package": pytest.approx(5.0)}
        link.unlink()
    assert len(read) == 2  # its times, then its rows
    containers(20, ["x", "y", "z"], file)
    assert additivity_error(model(5.0), file) == {"package": pytest.approx(2 * 5.0)}
