"""`kepler-train models publish`: what was trained on this machine becomes a version at a target."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

Said = tuple[int, list[str], list[str]]
LINEAR = "LinearRegressionTrainer"
FIRST_ROW = 1_794_614_400  # 2026-11-14 00:00 UTC


@pytest.fixture
def train(
    kepler_train: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[float, int], None]:
    """Train `lab` on the rows of a night; `noise` (W) is beside package = 20 + 0.03·cpu W."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODEL_PATH", str(tmp_path / "trained"))
    machine = {"processor": "intel_xeon", "cores": 16, "chips": 2, "memory": 100, "frequency": 2800}
    (tmp_path / "m0.json").write_text(json.dumps(machine))

    def do(noise: float, night: int) -> None:
        random = np.random.default_rng(night)
        cpu = random.uniform(0, 4000, 200)
        times = FIRST_ROW + 86_400 * night + 3 * np.arange(200)
        watts = 20 + 0.03 * cpu + random.normal(0, noise, 200)
        rows = pd.DataFrame({"timestamp": times, "node": "n", "id": "all containers", "bpf_cpu_time_ms": cpu})
        rows = rows.assign(bpf_page_cache_hit=1.0, package_power=watts)
        rows.to_csv(tmp_path / "rows.csv", index=False)
        code, _, errors = kepler_train(
            *f"train-from-data -i rows.csv -p lab --trainers {LINEAR} --id m0 --gate-mae 50".split()
        )
        assert code == 0, errors

    return do


def shown(kepler_train: Callable[..., Said]) -> dict[str, object]:
    code, lines, errors = kepler_train(*["models", "show", "lab", "-t", "store", "--format", "json"])
    assert code == 0, errors
    return json.loads("\n".join(lines))


def test_promote_decides_which_version_is_the_latest(
    kepler_train: Callable[..., Said], train: Callable[[float, int], None]
) -> None:
    publish = ["models", "publish", "lab", "-t", "store", "--gate-mae", "50"]
    train(1, 1)
    code, lines, errors = kepler_train(*publish)
    assert code == 0, errors
    first = shown(kepler_train)["latest"]
    assert str(first).startswith("20261115T")
    assert lines[-1] == f"Published 1 models of lab, latest is {first}."
    train(1, 2)
    assert kepler_train(*publish, "--promote", "never")[0] == 0
    assert shown(kepler_train)["latest"] == first
    reasons = [record["reason"] for record in shown(kepler_train)["versions"]]  # type: ignore[attr-defined]
    assert reasons == ["It is the first version.", "It is stored only, as promote is never."]
    assert kepler_train(*publish, "--promote", "always")[0] == 0
    assert str(shown(kepler_train)["latest"]).startswith("20261116T")


def test_publishing_the_same_models_twice_is_one_version_and_keep_removes_old_ones(
    kepler_train: Callable[..., Said], train: Callable[[float, int], None]
) -> None:
    publish = ["models", "publish", "lab", "-t", "store", "--gate-mae", "50", "--promote", "always", "--keep", "3"]
    for night in range(1, 6):
        train(1, night)
        assert [kepler_train(*publish)[0] for _ in range(2)] == [0, 0]
    versions = [record["version"][:8] for record in shown(kepler_train)["versions"]]  # type: ignore[attr-defined]
    assert versions == ["20261117", "20261118", "20261119"]


def test_what_cannot_be_published_is_one_sentence(
    kepler_train: Callable[..., Said], train: Callable[[float, int], None]
) -> None:
    train(30, 1)
    for words, exit_code, said in (
        ("lab -t store --gate-mae 0.1 --gate-mape 0.1", 3, "--gate-mae"),
        ("lab -t trained", 2, "--target"),
        ("lab -t store --promote sometimes", 2, "promote"),
        ("lab -t store --keep 2", 2, "keep"),
        ("other -t store", 2, "other is not a trained pipeline"),
    ):
        code, _, errors = kepler_train("models", "publish", *words.split())
        assert (code, len(errors)) == (exit_code, 1), (words, errors)
        assert said in errors[0]
