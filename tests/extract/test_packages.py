"""Power by package: a file of its own, whose packages and modes add up to the node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from handmade import T0, at, written

from kepler_train.extract.frame_files import NODE_FILE, PACKAGES_FILE
from kepler_train.extract.write_frames import extract_samples
from kepler_train.samples.parquet import Series
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

GRID = T0 + 15.0 * np.arange(41)
RISE = GRID - T0


def machine(packages: dict[str, float]) -> dict[str, list[Series]]:
    """A node with packages of so many watts, a tenth of it in dram, half of each idle."""
    made: dict[str, list[Series]] = {
        f"kepler_container_{feature}_total": [at(GRID, 100 * RISE, instance="n", container_id="a")]
        for feature in ("bpf_cpu_time_ms", "bpf_page_cache_hit")
    }
    for component, part in (("package", 1.0), ("dram", 0.1)):
        made[f"kepler_node_{component}_joules_total"] = [
            at(GRID, 0.5 * part * watts * RISE, instance="n", package=package, mode=mode, source="rapl-sysfs")
            for package, watts in packages.items()
            for mode in ("idle", "dynamic")
        ]
    return made


@pytest.mark.parametrize("extractor", ["default", "smooth"])
def test_each_package_has_its_power_and_they_add_up_to_the_node(extractor: str, tmp_path: Path) -> None:
    samples = written(tmp_path / "samples", machine({"0": 30.0, "1": 50.0}))
    extract_samples(samples, RunSpec(extractor=extractor), Schedule(), tmp_path)
    node, packages = pd.read_parquet(tmp_path / NODE_FILE), pd.read_parquet(tmp_path / PACKAGES_FILE)
    assert packages["time"].equals(node["time"])
    assert packages["rapl-sysfs/package_0_power"].tolist() == pytest.approx([30.0] * 40)
    assert packages["rapl-sysfs/dram_1_power"].tolist() == pytest.approx([5.0] * 40)
    assert node["rapl-sysfs/package_power"].tolist() == pytest.approx([80.0] * 40)
    # They are kept apart from the rows to train on, which know components only.
    assert [name for name in node.columns if name.endswith("_power")] == [
        "rapl-sysfs/package_power",
        "rapl-sysfs/dram_power",
    ]


def test_a_machine_of_one_package_has_no_such_file(tmp_path: Path) -> None:
    samples = written(tmp_path / "samples", machine({"0": 30.0}))
    extract_samples(samples, RunSpec(), Schedule(), tmp_path)
    assert not (tmp_path / PACKAGES_FILE).exists()
