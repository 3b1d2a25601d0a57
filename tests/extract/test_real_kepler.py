"""A real Kepler 0.11.4 on a virtual meter whose law is known."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from node_frames import node_frames

from kepler_train.samples.kepler_query_json import import_json
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec


@pytest.fixture(scope="module")
def recording(kepler_recording: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Extracted rows, and the truth behind them (time, u, watts and joules of each zone)."""
    folder = tmp_path_factory.mktemp("kepler")
    (folder / "raw.json").write_bytes(gzip.decompress((kepler_recording / "raw.json.gz").read_bytes()))
    samples = folder / "samples"
    samples.mkdir()
    import_json(folder / "raw.json", samples)
    spec = RunSpec(feature_groups=["ThirdParty"], thirdparty_metrics=["kepler_node_cpu_usage_ratio"])
    frames = node_frames(samples, spec, "current", Schedule())
    assert list(frames) == ["vm-1"]
    return frames["vm-1"].node, pd.read_csv(kepler_recording / "truth.csv.gz")


def true_mean(rows: pd.DataFrame, truth: pd.DataFrame, integral: np.ndarray) -> np.ndarray:
    """Mean of a true quantity in the window of each row, from its integral over time."""
    ends = rows["time"].dt.as_unit("ms").astype("int64").to_numpy() / 1000
    return (np.interp(ends, truth["time"], integral) - np.interp(ends - 5, truth["time"], integral)) / 5


@pytest.mark.parametrize(
    ("zone", "column"), [("package", "package-0_joules"), ("core", "core_joules"), ("dram", "dram_joules")]
)
def test_extracted_power_is_that_of_the_meter(
    zone: str, column: str, recording: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    rows, truth = recording
    metered = true_mean(rows, truth, truth[column].to_numpy())
    watts = rows[f"rapl-sysfs/{zone}_power"].to_numpy()
    assert watts.mean() == pytest.approx(metered.mean(), rel=0.01)
    assert np.corrcoef(watts, metered)[0, 1] > 0.9  # Kepler reads the meter up to 5 s before it is scraped


def test_a_gauge_is_extracted_as_its_level(recording: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rows, truth = recording
    busy = truth["u"].to_numpy()
    seconds = np.diff(truth["time"])
    integral = np.concatenate([[0.0], np.cumsum(seconds * busy[1:])])
    usage = rows["kepler_node_cpu_usage_ratio"]
    assert usage.between(0, 1).all()
    assert usage.mean() == pytest.approx(true_mean(rows, truth, integral).mean(), abs=0.03)
