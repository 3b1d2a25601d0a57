"""Frames as files: units and provenance in Parquet, CSV in the earlier layout, and both read back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from kepler_train.errors import DataError, UserError
from kepler_train.extract.frame_metadata import extraction_metadata, read_frame_metadata, unit_of
from kepler_train.extract.training_table import (
    preprocessed_name,
    training_table,
    write_preprocessed,
    write_table,
)
from kepler_train.extract.user_frame import ALL_CONTAINERS, read_user_frame
from kepler_train.isolate.ordered_rows import OrderedRows
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

SOURCE = "rapl-sysfs"
TIMES = pd.to_datetime([1_794_614_415, 1_794_614_430, 1_794_614_445], unit="s", utc=True)


def node_rows() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "time": TIMES,
            "node": "node-0",
            "workload": ["idle", "cpu", "cpu"],
            "bpf_cpu_time_ms": [100.0, 900.0, 800.0],
            "bpf_page_cache_hit": [1.0, 3.0, 2.0],
            f"{SOURCE}/package_power": [30.0, 90.5, 81.25],
            f"{SOURCE}/dram_power": [5.0, 6.0, 5.5],
        }
    )


def container_rows() -> pd.DataFrame:
    """Container a does three quarters of the work, b the rest, and b is not there in the first window."""
    node = node_rows()[["time", "node", "bpf_cpu_time_ms", "bpf_page_cache_hit"]]
    share = np.array([1.0, 0.75, 0.75])[:, None]
    work = node[["bpf_cpu_time_ms", "bpf_page_cache_hit"]].to_numpy()
    a, b = node.assign(container="a/p/c/n"), node.assign(container="b/q/c/n")
    a[["bpf_cpu_time_ms", "bpf_page_cache_hit"]] = work * share
    b[["bpf_cpu_time_ms", "bpf_page_cache_hit"]] = work * (1 - share)
    return pd.concat([a, b[1:]], ignore_index=True)


def abs_table() -> pd.DataFrame:
    return training_table(node_rows(), ["bpf_cpu_time_ms", "bpf_page_cache_hit"], SOURCE)


def dyn_table() -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        container_rows().to_parquet(Path(folder, "containers.parquet"), index=False)
        rows = OrderedRows([Path(folder, "containers.parquet")], node_rows(), Path(folder))
        (table,) = rows.table(["bpf_cpu_time_ms", "bpf_page_cache_hit"], SOURCE).parts()
        return table


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("rapl-sysfs/package_power", "W"),
        ("cpu_cycles", "1/s"),
        ("bpf_cpu_time_ms", "ms/s"),
        ("cgroupfs_memory_usage_bytes", "B/s"),  # Kepler counts it up
        ("node_memory_active_bytes", "B"),
        ("cpu_scaling_frequency_hertz", "Hz"),
        ("accelerator_intel_qat_dc", "1"),
        ("cpu_seconds", "s/s"),
        ("cpu_usage_ratio", "1"),
        ("time", "UTC"),
        ("timestamp", "s"),
        ("workload", ""),
        ("my_requests_total", "1/s"),
        ("my_temperature", "1"),
    ],
)
def test_every_column_has_its_unit(column: str, unit: str) -> None:
    assert unit_of(column) == unit


def test_a_parquet_file_says_units_and_where_its_rows_come_from(tmp_path: Path) -> None:
    spec = RunSpec(start="2026-11-14T00:00:00Z", end="2026-11-14T01:00:00Z", extractor="smooth", machine_id="m7")
    write_table(abs_table(), tmp_path / "a.parquet", extraction_metadata(spec, Schedule(), "legacy", 15.0))
    schema = pq.read_schema(tmp_path / "a.parquet")
    assert schema.field("package_power").metadata[b"unit"] == b"W"
    assert schema.field("bpf_cpu_time_ms").metadata[b"unit"] == b"ms/s"
    about = read_frame_metadata(tmp_path / "a.parquet")
    assert (about["extractor"], about["window_seconds"], about["machine_id"]) == ("smooth", 15.0, "m7")
    assert (about["start"], about["end"]) == ("2026-11-14T00:00:00Z", "2026-11-14T01:00:00Z")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), abs_table())


def test_the_earlier_layout_has_the_columns_of_the_public_files(tmp_path: Path, shared_data: Path) -> None:
    write_preprocessed(abs_table(), tmp_path / "abs.csv", 1)
    assert (tmp_path / "abs.csv").read_text().splitlines()[:2] == [
        "timestamp,bpf_cpu_time_ms,bpf_page_cache_hit,package_power,dram_power,node_type,packge_ratio_package",
        "1794614415,100.0,1.0,30.0,5.0,1,1.0",
    ]
    write_preprocessed(dyn_table(), tmp_path / "dyn.csv", 1)
    first, row = (tmp_path / "dyn.csv").read_text().splitlines()[:2]
    assert first == (
        ",timestamp,packge_ratio_package,bpf_cpu_time_ms,bpf_page_cache_hit,package_power,dram_power,node_type,id"
    )
    assert row == "0,1794614415,1.0,100.0,1.0,30.0,5.0,1,a/p/c/n"
    public = pd.read_csv(shared_data / "nx12" / "preprocess_abs_default_rapl_BPFOnly.csv", nrows=1)
    assert list(public.columns[-2:]) == ["node_type", "packge_ratio_package"]


def test_files_of_the_earlier_layout_have_its_names() -> None:
    name = preprocessed_name("AbsPower", "default", "none", SOURCE, "Basic")
    assert name == "preprocess_abs_default_rapl-sysfs_Basic.csv"
    name = preprocessed_name("DynPower", "smooth", "min", "acpi", "BPFOnly")
    assert name == "preprocess_dyn_smooth_min_acpi_BPFOnly.csv"


@pytest.mark.parametrize("form", ["parquet", "csv", "preprocessed"])
def test_what_was_written_is_read_back(form: str, tmp_path: Path) -> None:
    file = tmp_path / f"frame.{form if form != 'preprocessed' else 'csv'}"
    if form == "preprocessed":
        write_preprocessed(abs_table(), file, 0)
    else:
        write_table(abs_table(), file, {})
    given = read_user_frame(file, SOURCE, "node-0")
    assert given.features == ["bpf_cpu_time_ms", "bpf_page_cache_hit"]
    expected = node_rows() if form != "preprocessed" else node_rows().assign(workload="")  # it knows no workloads
    found = given.whole()[list(expected.columns)]
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


@pytest.mark.parametrize("preprocessed", [False, True])
def test_rows_of_containers_add_up_to_rows_of_their_node(preprocessed: bool, tmp_path: Path) -> None:
    if preprocessed:
        write_preprocessed(dyn_table(), tmp_path / "frame.csv", 0)
    else:
        write_table(dyn_table(), tmp_path / "frame.csv", {})
    given = read_user_frame(tmp_path / "frame.csv", SOURCE, "node-0")
    assert sorted(given.rows["container"].unique()) == ["a/p/c/n", "b/q/c/n"]
    whole = given.whole()
    assert whole["bpf_cpu_time_ms"].tolist() == pytest.approx([100, 900, 800])
    assert whole[f"{SOURCE}/package_power"].tolist() == [30.0, 90.5, 81.25]
    assert given.summed()[f"{SOURCE}/package_power"].tolist() == [30.0, 181.0, 162.5]  # as if they were shares


def test_containers_with_power_of_their_own_are_isolated_already(tmp_path: Path) -> None:
    shares = dyn_table()
    shares.loc[1, "package_power"] = 60.0
    write_table(shares, tmp_path / "shares.csv", {})
    with pytest.raises(DataError, match="isolated already"):
        read_user_frame(tmp_path / "shares.csv", SOURCE, "").whole()


def test_older_names_of_features_get_todays_name_and_unit(shared_data: Path) -> None:
    given = read_user_frame(shared_data / "nx12" / "preprocess_abs_default_rapl_BPFIRQ.csv", SOURCE, "nx12")
    assert given.features == ["bpf_block_irq", "bpf_cpu_time_ms", "bpf_net_rx_irq", "bpf_net_tx_irq"]
    assert given.rows["bpf_cpu_time_ms"][0] == pytest.approx(1.321)  # 1321 us/s
    assert (set(given.rows["node"]), set(given.rows["container"])) == ({"nx12"}, {ALL_CONTAINERS})
    assert (len(given.rows), given.power[0]) == (2202, f"{SOURCE}/package_power")


@pytest.mark.parametrize(
    ("content", "error", "sentence"),
    [
        ("a,package_power\n1,2\n", UserError, "has no column timestamp"),
        ("timestamp,a\n1,2\n", DataError, "has no power of rapl-sysfs"),
        ("timestamp,a,package_power\nnoon,2,3\n", UserError, "not times"),
        ("timestamp,a,package_power\n1,2,\n", DataError, "no row with power"),
        ("timestamp,a,package_power\n1,2,3\n1,2,4\n", DataError, "several rows of one node at one time"),
        ("timestamp,a,id,package_power\n1,2,x,3\n1,2,,3\n", DataError, "1 of 2 rows have no id"),
        ("timestamp,a,package_power\n1,2,True\n", DataError, "no row with power"),
        ("", UserError, "cut short or not CSV"),
    ],
)
def test_a_frame_that_cannot_serve_is_one_sentence(
    content: str, error: type[Exception], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "frame.csv").write_text(content)
    with pytest.raises(error, match=sentence):
        read_user_frame(tmp_path / "frame.csv", SOURCE, "")


def test_a_frame_whose_column_of_containers_is_empty_has_none(tmp_path: Path) -> None:
    (tmp_path / "frame.csv").write_text("timestamp,a,id,package_power\n1,2,,3\n2,2,,4\n")
    given = read_user_frame(tmp_path / "frame.csv", SOURCE, "")
    assert (given.has_containers, set(given.rows["container"])) == (False, {ALL_CONTAINERS})


def test_true_and_false_are_no_feature(tmp_path: Path) -> None:
    (tmp_path / "frame.csv").write_text("timestamp,a,throttled,package_power\n1,2,True,3\n2,2,False,4\n")
    assert read_user_frame(tmp_path / "frame.csv", SOURCE, "").features == ["a"]


def test_a_frame_that_is_cut_short_is_one_sentence(tmp_path: Path) -> None:
    write_table(abs_table(), tmp_path / "a.parquet", {})
    (tmp_path / "a.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    with pytest.raises(UserError, match="cut short or not Parquet"):
        read_user_frame(tmp_path / "a.parquet", SOURCE, "")


def test_rows_without_power_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "frame.csv").write_text("timestamp,a,package_power\n1,2,3\n2,2,\n3,2,4\n")
    assert len(read_user_frame(tmp_path / "frame.csv", SOURCE, "").rows) == 2
    assert "1 of 3 rows have no power" in capsys.readouterr().out
