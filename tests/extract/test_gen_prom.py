"""Recordings made by another hand, with the truth beside them; and a real one of an idle Broadwell machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from node_frames import NodeFrames, node_frames

from kepler_train.samples.kepler_query_json import import_json
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

SPEC = RunSpec(energy_sources=["rapl-sysfs", "acpi"], feature_groups=["Basic"])
FEATURES = ["bpf_cpu_time_ms", "bpf_page_cache_hit", "cache_miss", "cpu_cycles", "cpu_instructions"]
CONTAINERS, STEPS = 12, 400
IDLE = {"package": 26.0, "core": 5.0, "uncore": 2.5, "dram": 6.0}  # W of a package: the least its counter shows


def unix(rows: pd.DataFrame) -> np.ndarray:
    return rows["time"].dt.as_unit("ms").astype("int64").to_numpy() / 1000


def extracted(file: Path, folder: Path, spec: RunSpec = SPEC) -> NodeFrames:
    import_json(file, folder)
    (frames,) = node_frames(folder, spec, "legacy", Schedule()).values()
    return frames


@pytest.fixture(
    scope="module",
    params=[
        "--churn 0",
        "--churn 0.9",
        "--gaps 0.05",
        "--ratio",
        "--full --step 15",
        "--gaps 0.1 --churn 0.9 --step 5",
    ],
)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared_data: Path
) -> tuple[NodeFrames, dict[str, np.ndarray], int]:
    """NodeFrames, truth by step, and the length of a step (s)."""
    generator = shared_data.parent / "tools" / "gen_prom.py"
    if not generator.exists():
        pytest.skip("../shared/tools/gen_prom.py is not there")
    folder = tmp_path_factory.mktemp("made")
    options = request.param.split()
    command = [
        sys.executable,
        generator,
        "-n",
        CONTAINERS,
        "-t",
        STEPS,
        "-o",
        folder / "q.json",
        "--truth",
        folder / "t",
    ]
    subprocess.run([str(word) for word in [*command, *options]], check=True, capture_output=True)
    with np.load(folder / "t.npz") as truth:
        known = {name: truth[name].astype(float) for name in truth.files}
    step = int(options[options.index("--step") + 1]) if "--step" in options else 3
    return extracted(folder / "q.json", folder), known, step


def steps_of(frames: NodeFrames, truth: dict[str, np.ndarray]) -> np.ndarray:
    """The number of the step that each row's window is."""
    return np.searchsorted(truth["ts"], unix(frames.node))


def test_every_whole_step_is_a_row_and_every_other_is_counted(
    made: tuple[NodeFrames, dict[str, np.ndarray], int],
) -> None:
    frames, truth, _ = made
    assert len(frames.node) + frames.dropped == STEPS - 1
    assert len(frames.node) >= 0.7 * STEPS  # a missing scrape costs two steps: 0.9² of them are left
    assert (truth["ts"][steps_of(frames, truth)] == unix(frames.node)).all()


def test_power_is_that_of_the_truth(made: tuple[NodeFrames, dict[str, np.ndarray], int]) -> None:
    frames, truth, step = made
    at = steps_of(frames, truth)
    for component, least in IDLE.items():
        true = sum(np.maximum(truth[f"{component}_{package}"], least) for package in (0, 1))[at]
        # Four counters, each printed to a thousandth of a joule.
        assert np.abs(frames.node[f"rapl-sysfs/{component}_power"] - true).max() <= 4 * 0.001 / step + 1e-9
    platform = np.maximum(truth["platform"], 135.0)[at]
    assert np.abs(frames.node["acpi/platform_power"] - platform).max() <= 2 / step  # two counters of whole joules


def test_work_is_that_of_the_truth(made: tuple[NodeFrames, dict[str, np.ndarray], int]) -> None:
    frames, truth, step = made
    at = steps_of(frames, truth)
    for feature, true in (
        ("bpf_cpu_time_ms", 1000 * truth["util"]),
        ("cpu_instructions", truth["ins"]),
        ("cache_miss", truth["mis"]),
    ):
        # Counters of whole numbers, made of rates of single precision.
        expected = true.sum(axis=0)[at]
        assert frames.node[feature].to_numpy() == pytest.approx(expected, rel=1e-5, abs=CONTAINERS / step)


def test_each_container_has_rows_where_it_ran(made: tuple[NodeFrames, dict[str, np.ndarray], int]) -> None:
    frames, truth, step = made
    at = steps_of(frames, truth)
    found = sorted(own["bpf_cpu_time_ms"].sum() for _, own in frames.containers.groupby("container", observed=True))
    true = sorted(1000 * truth["util"][:, at].sum(axis=1))
    assert found == pytest.approx([work for work in true if work > 0], rel=1e-5, abs=len(at) / step)


def test_containers_add_up_to_the_node(made: tuple[NodeFrames, dict[str, np.ndarray], int]) -> None:
    frames, _, _ = made
    total = frames.containers.groupby("time")[FEATURES].sum().reindex(frames.node["time"], fill_value=0.0)
    np.testing.assert_allclose(total.to_numpy(), frames.node[FEATURES].to_numpy(), rtol=1e-9)


@pytest.fixture(scope="module")
def broadwell(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[NodeFrames, dict[str, list[dict]]]:
    """Seven scrapes, 3 to 21 s apart; the last one, 3 s after the one before, saw nothing new."""
    file = shared_data / "idle_broadwell_gpu.json"
    groups = ["Basic", "IRQOnly", "BPFIRQ", "CounterIRQCombined"]
    spec = SPEC.model_copy(update={"feature_groups": groups})
    return extracted(file, tmp_path_factory.mktemp("broadwell"), spec), json.loads(file.read_text())


def test_energy_of_a_real_recording_is_all_there(broadwell: tuple[NodeFrames, dict[str, list[dict]]]) -> None:
    frames, recorded = broadwell
    times = [time for time, _ in recorded["kepler_node_package_joules_total"][0]["values"]]
    assert unix(frames.node).tolist() == times[1:-1]
    seconds = np.diff(times)[:-1]
    for component in ("package", "core", "uncore", "dram"):
        ends = [
            (float(one["values"][0][1]), float(one["values"][-1][1]))
            for one in recorded[f"kepler_node_{component}_joules_total"]
        ]
        joules = sum(last - first for first, last in ends)
        assert (frames.node[f"rapl-sysfs/{component}_power"] * seconds).sum() == pytest.approx(joules, rel=1e-9)
    # By hand, first step: (491.211 + 510.095 + 489.233 + 498.510) J in 15 s.
    assert frames.node["rapl-sysfs/package_power"].iloc[0] == pytest.approx(1989.049 / 15, rel=1e-6)


def test_work_of_a_real_recording_is_all_there(broadwell: tuple[NodeFrames, dict[str, list[dict]]]) -> None:
    frames, recorded = broadwell
    times = [time for time, _ in recorded["kepler_node_package_joules_total"][0]["values"]]
    seconds = np.diff(times)[:-1]
    features = [*FEATURES, "bpf_block_irq", "bpf_net_rx_irq", "bpf_net_tx_irq"]
    for feature in features:
        gained = 0.0
        for one in recorded[f"kepler_container_{feature}_total"]:
            values = [float(value) for _, value in one["values"]]
            assert values == sorted(values)  # no reset: gains are last − first, or all of it for one that appeared
            gained += values[-1] - (values[0] if one["values"][0][0] == times[0] else 0.0)
        assert (frames.node[feature] * seconds).sum() == pytest.approx(gained, rel=1e-9)
    total = frames.containers.groupby("time")[features].sum()
    np.testing.assert_allclose(total.to_numpy(), frames.node[features].to_numpy(), rtol=1e-9)
