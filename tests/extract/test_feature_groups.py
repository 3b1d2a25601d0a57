"""Feature groups that take what there is, and features of the node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from handmade import T0, at, written
from node_frames import node_frames

from kepler_train.errors import DataError
from kepler_train.extract.feature_groups import columns_of_group, select_group
from kepler_train.extract.write_frames import extract_samples
from kepler_train.samples.parquet import Series
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.verdict import check_verdict, verdict

GRID = T0 + 15.0 * np.arange(41)
RISE = GRID - T0
WAVE = 1 + np.sin(RISE / 60)


def machine(node: str = "node-0", *, qat: bool = False, system: bool = False, counters: bool = True) -> dict:
    """A node with a meter of 40 W, containers a and b, and as many features as asked for."""
    place = {"instance": node}
    features = ["bpf_cpu_time_ms", "bpf_page_cache_hit"]
    features += ["cache_miss", "cpu_cycles", "cpu_instructions"] if counters else []
    made: dict[str, list[Series]] = {
        "kepler_node_package_joules_total": [at(GRID, 40 * RISE, **place, package="0", mode="dynamic")]
    }
    for number, feature in enumerate(features, start=1):
        made[f"kepler_container_{feature}_total"] = [
            at(GRID, number * 100 * RISE, **place, container_id="a"),
            at(GRID, number * 300 * RISE, **place, container_id="b"),
        ]
    if qat:
        made["kepler_node_accelerator_intel_qat"] = [
            at(GRID, level * WAVE, **place, qatDevID=device, type=kind)
            for device, kind, level in (("0", "dc", 10), ("1", "dc", 20), ("0", "asym", 5))
        ]
    if system:
        made["kepler_node_node_info"] = [at(GRID, 0 * RISE + 3, **place)]
        made["kepler_node_cpu_scaling_frequency_hertz"] = [
            at(GRID, 0 * RISE + hertz, **place, cpu=cpu) for cpu, hertz in (("0", 2.0e9), ("1", 3.0e9), ("2", 3.4e9))
        ]
    return made


def of(group: str, **more: object) -> RunSpec:
    return RunSpec(feature_groups=[group], output_types=["AbsPower"], **more)


def test_workload_only_is_valid_with_what_is_there_and_names_what_is_not(tmp_path: Path) -> None:
    found = verdict(of("WorkloadOnly"), written(tmp_path, machine())).groups["WorkloadOnly"]
    assert found.valid
    assert sorted(found.left_out) == ["ACCELERATOR", "CGROUP", "IO", "IRQ", "KUBELET"]
    assert found.left_out["KUBELET"] == ["kubelet_cpu_usage", "kubelet_memory_bytes"]


def test_the_figures_of_extraction_name_the_sets_that_were_left_out(tmp_path: Path) -> None:
    samples = written(tmp_path / "samples", machine(system=True))
    figures = extract_samples(samples, of("Full"), Schedule(), tmp_path)
    assert sorted(figures["left_out"]["Full"]) == ["ACCELERATOR", "CGROUP", "IO", "IRQ", "KUBELET"]
    assert "left_out" in extract_samples(samples, of("Basic"), Schedule(), tmp_path)
    assert extract_samples(samples, of("Basic"), Schedule(), tmp_path)["left_out"] == {}


def test_nodes_share_the_features_that_all_of_them_have(tmp_path: Path) -> None:
    one, other = machine("node-0"), machine("node-1", counters=False)
    both = {metric: [*series, *other.get(metric, [])] for metric, series in one.items()}
    spec = of("WorkloadOnly", nodes=["node-0", "node-1"])
    samples = written(tmp_path / "samples", both)
    assert "COUNTER" in verdict(spec, samples).groups["WorkloadOnly"].left_out
    frames = node_frames(samples, spec, "legacy", Schedule())
    rows = pd.concat([own.node for own in frames.values()])
    assert columns_of_group(rows, "WorkloadOnly", []) == ["bpf_cpu_time_ms", "bpf_page_cache_hit"]
    alone = frames["node-0"].node
    assert "cpu_cycles" in columns_of_group(alone, "WorkloadOnly", [])


def test_a_set_that_is_not_optional_is_still_needed(tmp_path: Path) -> None:
    without = machine()
    del without["kepler_container_bpf_cpu_time_ms_total"]
    samples = written(tmp_path, without)
    with pytest.raises(DataError, match="feature group Full on node node-0: kepler_container_bpf_cpu_time_ms_total"):
        check_verdict(of("Full"), verdict(of("Full"), samples))
    rows = node_frames(samples, of("Full"), "legacy", Schedule())["node-0"].node
    with pytest.raises(DataError, match="no bpf_cpu_time_ms of feature group Full"):
        columns_of_group(rows, "Full", [])


def test_a_metric_that_the_user_lists_is_not_optional(tmp_path: Path) -> None:
    spec = of("WorkloadOnly", thirdparty_metrics=["node_load1"])
    found = verdict(spec, written(tmp_path, machine())).groups["WorkloadOnly"]
    assert not found.valid
    assert found.missing == {"node-0": ["node_load1"]}


def test_the_accelerator_is_a_feature_for_each_type_of_its_work(tmp_path: Path) -> None:
    samples = written(tmp_path, machine(qat=True))
    for group in ("AcceleratorOnly", "WorkloadOnly"):
        rows = node_frames(samples, of(group), "legacy", Schedule())["node-0"].node
        assert {"accelerator_intel_qat_asym", "accelerator_intel_qat_dc"} <= set(select_group(rows, group, []).columns)
        means = (WAVE[1:] + WAVE[:-1]) / 2  # utilization is a level: its mean between two scrapes
        np.testing.assert_allclose(rows["accelerator_intel_qat_dc"], 30 * means)  # devices are added
        np.testing.assert_allclose(rows["accelerator_intel_qat_asym"], 5 * means)


def test_containers_share_the_accelerator_by_cpu_time(tmp_path: Path) -> None:
    own = node_frames(written(tmp_path, machine(qat=True)), of("WorkloadOnly"), "legacy", Schedule())["node-0"]
    shares = own.containers.groupby("container", observed=True)["accelerator_intel_qat_dc"].mean()
    assert shares.tolist() == pytest.approx([own.node["accelerator_intel_qat_dc"].mean() * s for s in (0.25, 0.75)])


def test_the_clock_of_the_cpus_is_their_mean_and_the_node_type_is_as_exported(tmp_path: Path) -> None:
    rows = node_frames(written(tmp_path, machine(system=True)), of("Full"), "legacy", Schedule())["node-0"].node
    assert rows["cpu_scaling_frequency_hertz"].tolist() == pytest.approx([2.8e9] * 40)
    assert rows["node_info"].tolist() == pytest.approx([3.0] * 40)
    assert {"node_info", "cpu_scaling_frequency_hertz"} <= set(columns_of_group(rows, "Full", []))


def test_third_party_features_are_the_metrics_that_were_listed(tmp_path: Path) -> None:
    made = machine() | {"node_load1": [at(GRID, WAVE, instance="node-0")]}
    spec = of("ThirdParty", thirdparty_metrics=["node_load1"])
    samples = written(tmp_path, made)
    assert verdict(spec, samples).groups["ThirdParty"].valid
    rows = node_frames(samples, spec, "legacy", Schedule())["node-0"].node
    assert columns_of_group(rows, "ThirdParty", ["node_load1"]) == ["node_load1"]
