"""The leaderboard of a pipeline: all its models in one file, read with suspicion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kepler_train.errors import UserError
from kepler_train.export.leaderboard import LEADERBOARD, ModelError, read_leaderboard
from kepler_train.export.model_tables import write_model_tables

FIGURES = {
    "rmse": 3.0, "p95": 4.0, "idle_bias": None, "worst_workload": "cpu", "worst_workload_mae": 9.0,
    "energy_error": None, "energy_error_joules": None, "energy_worst_workload": None, "mean_power": 50.0,
    "rows": 10, "mape_rows": 10, "mape_floor": 1.0,
}  # fmt: skip


def write_model(pipeline: Path, name: str, package: float, dram: float) -> None:
    folder = pipeline / "rapl-sysfs" / "AbsPower" / "BPFOnly" / name
    folder.mkdir(parents=True)
    about: dict[str, Any] = {
        "schema_version": 3, "model_name": name, "trainer": name.partition("_")[0], "model_class": "scikit",
        "model_file": f"{name}.json", "features": ["bpf_cpu_time_ms"], "fe_files": [], "node_type": 2,
        "output_type": "AbsPower", "energy_source": "rapl-sysfs", "feature_group": "BPFOnly", "rows": 120,
        "workloads": {"cpu": 60, "idle": 60},
        "interval": {
            "package": {"level": 0.9, "constant": 1.0, "share": 0.1, "coverage": 0.91},
            "dram": {"level": 0.9, "constant": 0.1, "share": 0.1, "coverage": 0.88},
        },
        "figures": {
            "blocked": {
                "package": {"mae": package, "mape": 4.0} | FIGURES,
                "dram": {"mae": dram, "mape": None} | FIGURES,
            },
        },
    }  # fmt: skip
    (folder / "metadata.json").write_text(json.dumps(about))
    folder.with_name(f"{name}.zip").write_bytes(b"z" * 1234)


def test_a_model_is_listed_with_the_errors_of_its_worst_component(tmp_path: Path):
    write_model(tmp_path, "LinearRegressionTrainer_2", package=2.5, dram=0.5)
    write_model(tmp_path, "XgboostFitTrainer_2", package=1.5, dram=1.75)
    write_model_tables(tmp_path)
    linear, trees = read_leaderboard((tmp_path / LEADERBOARD).read_bytes(), "leaderboard")
    assert linear.folder == "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_2"
    assert linear.worst("blocked") == ModelError(mae=2.5, mape=4.0)
    assert trees.worst("blocked") == ModelError(mae=1.75, mape=None)
    assert linear.worst("forward") is None
    assert (linear.coverage, linear.level, linear.node_type, linear.workloads, linear.size) == (0.88, 0.9, 2, 2, 1234)


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str):
    write_model(tmp_path, "LinearRegressionTrainer_2", package=2.5, dram=0.5)
    write_model_tables(tmp_path)
    content = json.loads((tmp_path / LEADERBOARD).read_text())
    content["models"][0]["group"] = name
    with pytest.raises(UserError, match=r"shelf/leaderboard\.json is not a leaderboard"):
        read_leaderboard(json.dumps(content).encode(), "shelf/leaderboard.json")


def test_something_else_is_refused_in_a_sentence():
    with pytest.raises(UserError, match=r"leaderboard\.json cannot be read"):
        read_leaderboard(b'{"models": 3}', "leaderboard.json")
