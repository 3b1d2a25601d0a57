"""Shares of power against what each simulated container really drew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulated import write_node

from kepler_train.catalog.methods import ATTRIBUTION_RULES
from kepler_train.extract.write_frames import extract_samples
from kepler_train.isolate.background import KnownBackground
from kepler_train.isolate.frames import isolate_frames
from kepler_train.isolate.isolation import attributed_file, isolated_node_file
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.samples.schedule import read_schedule
from kepler_train.simulate.share_errors import container_errors
from kepler_train.simulate.workloads import STRESS_LOADS
from kepler_train.spec import RunSpec

PACKAGE = "rapl-sysfs/package_power"
SPEC = RunSpec(feature_groups=["Basic"], output_types=["DynPower"])


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_node(tmp_path_factory.mktemp("truth"), hours=8)
    (folder / "frames").mkdir()
    extract_samples(folder / "kepler_query", SPEC, read_schedule(str(folder / "schedule.json")), folder / "frames")
    return folder


def isolated(folder: Path, isolator: str, rule: str, out: Path) -> pd.DataFrame:
    spec = SPEC.model_copy(update={"isolator": isolator, "attribution": rule, "node_type": 0})
    isolate_frames(folder / "frames", spec, KnownBackground(), out)
    return pd.read_parquet(out / attributed_file("Basic"))


def load_error(folder: Path, shares: pd.DataFrame) -> tuple[float, float]:
    """Mean absolute error of stress containers and their true mean power (W)."""
    found = container_errors(shares, pd.read_parquet(folder / "truth.parquet"))
    found = found[(found["column"] == PACKAGE) & found["load"].isin(list(STRESS_LOADS))]
    mae, watts = (np.average(found[name], weights=found["rows"]) for name in ("mae", "watts"))
    return float(mae), float(watts)


def test_the_default_is_the_nearest_to_the_truth(frames: Path, tmp_path: Path) -> None:
    errors = {}
    for isolator in ("min", "profile"):
        for rule in ATTRIBUTION_RULES:
            out = tmp_path / f"{isolator}-{rule}"
            out.mkdir()
            errors[isolator, rule], watts = load_error(frames, isolated(frames, isolator, rule, out))
    print("\nerror of stress containers, package (W) of", round(watts, 1), errors)
    assert watts == pytest.approx(20, abs=5)
    assert min(errors, key=lambda key: errors[key]) == ("profile", SPEC.attribution)
    assert errors["profile", "proportional"] < 0.7
    assert errors["profile", "proportional"] < 0.9 * errors["profile", "main-feature"]
    assert errors["profile", "proportional"] < 0.5 * errors["min", "proportional"]


@pytest.mark.parametrize("rule", ATTRIBUTION_RULES)
def test_shares_add_up_to_the_isolated_node_power(frames: Path, rule: str, tmp_path: Path) -> None:
    shares = isolated(frames, "auto", rule, tmp_path)
    node = pd.read_parquet(tmp_path / isolated_node_file("Basic"))
    columns = [name for name in node.columns if name.endswith("_power")]
    summed = shares.groupby("time")[columns].sum().reindex(node["time"], fill_value=0.0)
    np.testing.assert_allclose(summed, node[columns], rtol=1e-9, atol=0)
    outcome = Isolation.model_validate_json((tmp_path / ISOLATION).read_bytes())
    assert (outcome.asked, outcome.isolator, outcome.attribution) == ("auto", "profile", rule)
    assert outcome.why.startswith("there is no profile of node type 0, but the schedule has idle phases of 14")
    lost = outcome.groups["Basic"].removed["node-0"][PACKAGE]
    assert lost.clipped == (node[PACKAGE] == 0).sum()
    assert lost.clipped_share > 0.05  # half of the time is idle, and the noise of the meter goes both ways
    assert lost.too_low_share < 0.05
    assert outcome.warnings() == []
    assert 0 < outcome.unattributed_share() < 0.05


def test_a_container_without_a_row_has_an_error_of_all_its_power() -> None:
    time = pd.Timestamp("2026-11-14T00:00:15Z")
    truth = pd.DataFrame(
        {"time": [time] * 2, "node": "a", "container": ["x", "y"], "load": "cpu", "package_dynamic_watts": [3.0, 5.0]}
    )
    shares = pd.DataFrame({"time": [time], "node": "a", "container": "x", PACKAGE: [8.0]})
    found = container_errors(shares, truth).set_index("container")
    assert found["mae"].to_dict() == {"x": 5, "y": 5}
    assert found["bias"].to_dict() == {"x": 5, "y": -5}
    assert found["watts"].to_dict() == {"x": 3, "y": 5}
