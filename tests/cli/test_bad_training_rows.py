"""Rows that are hard or impossible to learn from: one sentence, the right exit code, and what can be said is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import write_csv

FRAME = ("--features", "frame", "--node-type", "0")
KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
MODEL = Path("models/mine/rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0/metadata.json")


def frame(count: int = 120, workloads: tuple[str, ...] = ("idle", "cpu", "vm")) -> pd.DataFrame:
    """Rows 3 s apart; package = 20 + 0.03·cpu + 0.002·cache W."""
    chance = np.random.default_rng(0)
    cpu, cache = chance.uniform(0, 4000, count), chance.uniform(0, 9000, count)
    return pd.DataFrame(
        {
            "timestamp": 1_794_614_400 + 3 * np.arange(count),
            "workload": [workloads[row * len(workloads) // count] for row in range(count)],
            "bpf_cpu_time_ms": cpu,
            "bpf_page_cache_hit": cache,
            "package_power": 20 + 0.03 * cpu + 0.002 * cache,
        }
    )


@pytest.fixture
def trained(kepler_train: KeplerTrain, tmp_path: Path) -> Callable[..., tuple[int, list[str], list[str]]]:
    """`train-from-data` on a frame."""

    def train(rows: pd.DataFrame, *more: str) -> tuple[int, list[str], list[str]]:
        rows.to_csv(tmp_path / "rows.csv", index=False)
        asked = ("-fg", "BPFOnly", "-ot", "AbsPower", "-e", "rapl-sysfs", "--trainers", "LinearRegressionTrainer")
        asked += ("--node-type", "0")
        return kepler_train("train-from-data", "-i", str(tmp_path / "rows.csv"), "-p", "mine", *asked, *more)

    return train


def metadata(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / MODEL).read_text())
    return found


@pytest.mark.parametrize("watts", [0.0, 42.0])
def test_power_that_never_changes_is_learnt_and_said_to_be_so(
    trained: Callable[..., Any], tmp_path: Path, watts: float
) -> None:
    code, said, errors = trained(frame().assign(core_power=watts))
    assert (code, errors) == (0, [])
    assert any(f"core is {watts:g} W in every row" in line for line in said)
    found = metadata(tmp_path)
    assert found["core_mae"] == pytest.approx(0.0, abs=1e-6)
    assert found["core_mape"] == (None if watts == 0 else pytest.approx(0.0, abs=1e-6))
    assert f"core is {watts:g} W in every row" in (tmp_path / "models/mine/README.md").read_text()


@pytest.mark.parametrize("watts", [0.0, 42.0])
def test_where_all_power_never_changes_nothing_is_learnt_and_what_is_there_stays(
    trained: Callable[..., Any], tmp_path: Path, watts: float
) -> None:
    assert trained(frame())[0] == 0
    before = (tmp_path / MODEL).read_bytes()
    code, _, errors = trained(frame().assign(package_power=watts, dram_power=1.5))
    assert (code, len(errors)) == (3, 1)
    why = f"Power is the same in all 120 rows (package {watts:g} W, dram 1.5 W): there is nothing to learn."
    assert errors[0].endswith(why)
    assert (tmp_path / MODEL).read_bytes() == before


def test_a_single_workload_is_judged_by_time_and_the_report_says_what_is_not_known(
    trained: Callable[..., Any], tmp_path: Path
) -> None:
    code, said, errors = trained(frame(workloads=("idle", "cpu")))
    assert (code, errors) == (0, [])
    assert any("there is one workload only" in line for line in said)
    assert list(metadata(tmp_path)["figures"]) == ["shuffled", "blocked", "forward"]
    assert "how wrong the model is under another is not known" in (tmp_path / "models/mine/README.md").read_text()


def test_fewer_rows_than_can_be_held_out_are_refused(trained: Callable[..., Any], tmp_path: Path) -> None:
    code, _, errors = trained(frame(9))
    assert (code, len(errors)) == (3, 1)
    assert errors[0].endswith("9 rows are too few to hold out 5 parts of them: choose a longer window.")
    assert not list((tmp_path / "models").rglob("*.json"))


@pytest.mark.parametrize("features", [("--features", "group"), ("--features", "frame")])
def test_a_column_with_rows_without_a_value_is_named(
    trained: Callable[..., Any], tmp_path: Path, features: tuple[str, str]
) -> None:
    rows = frame()
    rows.loc[10:16, "bpf_page_cache_hit"] = np.nan
    code, _, errors = trained(rows, *features)
    assert (code, len(errors)) == (3, 1)
    assert errors[0].endswith(
        "Of 120 rows some hold no number, but nothing, text or infinity: bpf_page_cache_hit in 7."
        " Leave these rows or columns out."
    )
    assert not list((tmp_path / "models").rglob("*.json"))


@pytest.mark.parametrize("value", ["many", np.inf])
def test_words_and_infinity_among_the_numbers_of_a_feature_are_no_numbers(
    trained: Callable[..., Any], value: object
) -> None:
    rows = frame().astype({"bpf_page_cache_hit": object})
    rows.loc[3, "bpf_page_cache_hit"] = value
    code, _, errors = trained(rows)
    assert (code, len(errors)) == (3, 1)
    assert "Of 120 rows some hold no number, but nothing, text or infinity: bpf_page_cache_hit in 1." in errors[0]


def test_rows_of_less_than_no_power_are_left_out_and_counted(trained: Callable[..., Any], tmp_path: Path) -> None:
    rows = frame()
    rows.loc[5:6, "package_power"] = [-3.0, np.nan]
    code, said, errors = trained(rows)
    assert (code, errors) == (0, [])
    assert any("2 of 120 rows have no power, or less than 0 W, and are left out" in line for line in said)
    assert metadata(tmp_path)["rows"] == 118


@pytest.mark.parametrize(
    ("watts", "said"), [(1e300, "reaches 1e+300 W"), (20_001.0, "reaches 20001 W"), (np.inf, "reaches inf W")]
)
def test_power_that_no_machine_takes_is_refused_with_its_column_and_rows(
    trained: Callable[..., Any], tmp_path: Path, watts: float, said: str
) -> None:
    rows = frame()
    rows.loc[10:55, "package_power"] = watts
    code, _, errors = trained(rows)
    assert (code, len(errors)) == (3, 1)
    assert f"package_power is above 20,000 W, which no machine takes, in 46 of 120 rows, and {said}" in errors[0]
    assert not list((tmp_path / "models").rglob("*.json"))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_one_name_are_refused_and_named(kepler_train: KeplerTrain, tmp_path: Path, suffix: str) -> None:
    rows, file = frame(), tmp_path / f"rows{suffix}"
    twice = pa.table([*rows.values.T.tolist(), [1.0] * 120], names=[*rows.columns, "bpf_cpu_time_ms"])
    write_csv(twice, file) if suffix == ".csv" else pq.write_table(twice, file)
    code, _, errors = kepler_train(
        "train-from-data", "-i", str(file), "-p", "mine", "--features", "frame", "--node-type", "0"
    )
    assert (code, len(errors)) == (2, 1)
    assert errors[0].endswith("has several columns of one name: bpf_cpu_time_ms. Leave one of each.")


def test_rates_of_counters_below_0_are_refused_and_of_other_columns_said(trained: Callable[..., Any]) -> None:
    rows = frame()
    rows.loc[7:9, "bpf_cpu_time_ms"] = -1.0
    code, _, errors = trained(rows)
    assert (code, len(errors)) == (3, 1)
    assert "Of 120 rows some have rates below 0, though counters never fall: bpf_cpu_time_ms in 3." in errors[0]
    code, said, errors = trained(frame().assign(degrees=np.arange(120) - 2), "--features", "frame")
    assert (code, errors) == (0, [])
    assert any("degrees is below 0 in 2 of 120 rows: that is wrong, unless it is no rate." in line for line in said)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (lambda times: times * 1000, "reaches 1794614757000, which is no Unix time in seconds: divide it."),
        (lambda times: times.astype(str) + " o'clock", "timestamp has values that are not times."),
    ],
)
def test_times_that_are_none_are_refused_in_one_sentence(
    trained: Callable[..., Any], times: Callable[[Any], Any], words: str
) -> None:
    rows = frame()
    code, _, errors = trained(rows.assign(timestamp=times(rows["timestamp"])))
    assert (code, len(errors)) == (2, 1)
    assert errors[0].endswith(words)


def test_times_may_be_written_as_dates(trained: Callable[..., Any], tmp_path: Path) -> None:
    rows = frame()
    written = pd.to_datetime(rows["timestamp"], unit="s", utc=True).map(lambda time: time.isoformat())
    assert trained(rows.assign(timestamp=written))[0] == 0
    assert metadata(tmp_path)["window"] == ["2026-11-14T00:00:00+00:00", "2026-11-14T00:05:57+00:00"]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"nothing of the kind" * 100])
def test_a_parquet_file_that_is_none_is_refused_in_one_sentence(
    kepler_train: KeplerTrain, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "rows.parquet").write_bytes(content)
    for command in ("train-from-data -p mine", "isolate-from-data -o out"):
        code, _, errors = kepler_train(*command.split(), "-i", str(tmp_path / "rows.parquet"))
        assert (code, len(errors)) == (2, 1)
        assert "rows.parquet is cut short or not Parquet: " in errors[0]


def test_a_trainer_that_is_not_there_is_asked_about_once(trained: Callable[..., Any]) -> None:
    code, _, errors = trained(frame(), "--trainers", "LinearRegresionTrainer")
    assert (code, len(errors)) == (2, 1)
    hint = "There is no trainer 'LinearRegresionTrainer': did you mean 'LinearRegressionTrainer'? Known: "
    assert hint in errors[0]
    assert errors[0].endswith(", LaggedForestTrainer, auto.")
