"""Virtual machines: energy from the Kepler of their host, features from inside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from handmade import T0, at, written
from node_frames import NodeFrames, node_frames

from kepler_train.errors import DataError
from kepler_train.samples.metrics import required_metrics
from kepler_train.samples.parquet import Series
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.verdict import check_verdict, find_collected_dialect, verdict

GRID = T0 + 5.0 * np.arange(61)
RISE = GRID - T0
HOST = "10.0.0.1:9102"
SOURCE = "trained_power_model"


def spec(group: str, **more: object) -> RunSpec:
    return RunSpec(energy_sources=[SOURCE], feature_groups=[group], vm_train=True, **more)


def legacy(vms: dict[str, tuple[str, float]]) -> dict[str, list[Series]]:
    """A host of 200 W, and VMs by id: where the Kepler inside each is scraped, and the power ascribed to it (W)."""
    made: dict[str, list[Series]] = {
        "kepler_node_package_joules_total": [
            at(GRID, 200 * RISE, instance=HOST, package="0", mode="dynamic", source="rapl-sysfs")
        ],
        "kepler_vm_package_joules_total": [
            at(GRID, watts * share * RISE, instance=HOST, job="metal", vm_id=vm, mode=mode)
            for vm, (_, watts) in vms.items()
            for mode, share in (("idle", 0.25), ("dynamic", 0.75))
        ],
    }
    for feature in ("bpf_cpu_time_ms", "bpf_page_cache_hit"):
        inside = [at(GRID, 300 * RISE, instance=place, job="vm", container_id="a") for place, _ in vms.values()]
        outside = at(GRID, 9999 * RISE, instance=HOST, job="metal", container_id="qemu")
        made[f"kepler_container_{feature}_total"] = [*inside, outside]
    return made


def extracted(folder: Path, asked: RunSpec) -> dict[str, NodeFrames]:
    return node_frames(folder, asked, find_collected_dialect(asked, folder), Schedule())


def test_the_label_is_the_energy_of_the_vm_and_features_come_from_inside(tmp_path: Path) -> None:
    frames = extracted(written(tmp_path, legacy({"vm-7": ("10.0.9.7:9102", 12.0)})), spec("BPFOnly"))
    assert list(frames) == ["vm-7"]
    rows = frames["vm-7"].node
    assert rows[f"{SOURCE}/package_power"].tolist() == pytest.approx([12.0] * 60)  # both modes
    assert rows["bpf_cpu_time_ms"].tolist() == pytest.approx([300.0] * 60)  # not the host's


def test_several_vms_are_told_apart_by_the_names_of_their_targets(tmp_path: Path) -> None:
    vms = {"vm-7": ("vm-7:9102", 12.0), "vm-8": ("vm-8:9102", 30.0)}
    frames = extracted(written(tmp_path, legacy(vms)), spec("BPFOnly"))
    means = {name: own.node[f"{SOURCE}/package_power"].mean() for name, own in frames.items()}
    assert means == pytest.approx({"vm-7": 12.0, "vm-8": 30.0})
    assert all(own.node["bpf_cpu_time_ms"].mean() == pytest.approx(300.0) for own in frames.values())


def test_in_todays_kepler_a_vm_is_a_zone_and_what_has_ended_does_not_count_again(tmp_path: Path) -> None:
    host = {"instance": HOST, "node_name": "host-1"}
    zones = {"package": 20.0, "core": 8.0, "dram": 3.0}
    made = {
        "kepler_vm_cpu_joules_total": [
            at(GRID, watts * RISE, **host, vm_id="x", vm_name="vm-7", zone=zone, state="running")
            for zone, watts in zones.items()
        ]
        + [at(GRID[-1:], [6000.0], **host, vm_id="x", vm_name="vm-7", zone="package", state="terminated")],
        "kepler_process_cpu_seconds_total": [
            at(GRID, 1.5 * RISE, instance="10.0.9.7:28282", node_name="vm-7", pid="1", container_id="a"),
            at(GRID, 9.0 * RISE, **host, pid="1", type="vm", vm_id="x"),
        ],
        "kepler_node_cpu_usage_ratio": [
            at(GRID, 0 * RISE + 0.4, instance="10.0.9.7:28282", node_name="vm-7"),
            at(GRID, 0 * RISE + 0.9, **host),
        ],
    }
    rows = extracted(written(tmp_path, made), spec("CPUTime"))["vm-7"].node
    found = {zone: rows[f"{SOURCE}/{zone}_power"].mean() for zone in zones}
    assert found == pytest.approx(zones)
    assert rows["cpu_seconds"].mean() == pytest.approx(1.5)
    assert rows["cpu_usage_ratio"].mean() == pytest.approx(0.4)


def test_the_verdict_says_that_the_power_of_vms_is_ascribed(tmp_path: Path) -> None:
    samples, asked = written(tmp_path, legacy({"vm-7": ("10.0.9.7:9102", 12.0)})), spec("BPFOnly")
    found = verdict(asked, samples)
    assert found.nodes == ["vm-7"]
    assert found.groups["BPFOnly"].valid
    assert any("ascribes to them by CPU time" in one.text for one in found.warnings)
    check_verdict(asked, found)


def test_without_vms_there_is_nothing_to_learn(tmp_path: Path) -> None:
    made = legacy({})
    del made["kepler_vm_package_joules_total"]
    with pytest.raises(DataError, match="no energy counters of trained_power_model for virtual machines"):
        find_collected_dialect(spec("BPFOnly"), written(tmp_path, made))


def test_only_vm_training_asks_for_the_energy_of_vms() -> None:
    plain = RunSpec(energy_sources=["rapl-sysfs", "acpi"])
    asked = plain.model_copy(update={"vm_train": True})
    assert not [metric for metric in required_metrics(plain, "legacy").energy if "_vm_" in metric]
    assert required_metrics(asked, "legacy").energy == [
        f"kepler_vm_{part}_joules_total" for part in ("core", "dram", "package", "platform", "uncore")
    ]
    assert required_metrics(asked, "current").energy == ["kepler_vm_cpu_joules_total"]  # which has no zone platform
