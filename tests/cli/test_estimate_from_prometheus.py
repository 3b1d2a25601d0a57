"""From a real Prometheus: a model of a machine with a meter says what another one without a meter needs.

The two run the same kinds of load at other times and in other mixes. What the second one really needs, only the
simulator knows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from kepler_train.local.prometheus import PrometheusServer
from kepler_train.simulate.history import exported, write_history, write_schedule
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.simulate.truth import write_node_truth
from kepler_train.simulate.variant import Variant

pytestmark = pytest.mark.integration

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
START, HOURS = 1_794_614_400.0, 3  # 2026-11-14T00:00:00Z
WINDOW = ["--start-time", "2026-11-14T00:00:00Z", "--end-time", "2026-11-14T03:00:00Z"]
# CPU time alone does not tell one kind of load from another.
GROUPS = {"legacy": {"Basic": 0.08, "NodeExporter": 0.2}, "current": {"CPUTime": 0.2}}
TRAINER = "LinearRegressionTrainer"


@dataclass(frozen=True)
class Machines:
    """Where Prometheus has the machine with a meter and the one without, and what the latter really needs (W)."""

    dialect: str
    metal: str
    vm: str
    schedule: Path
    truth: pd.DataFrame


@pytest.fixture(scope="module", params=GROUPS)
def machines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    home = tmp_path_factory.mktemp(request.param)
    metal, vm = (
        run_nodes(Scenario(START, 3600.0 * HOURS, seed=seed, containers=6, phase=300, idle=300)) for seed in (1, 2)
    )
    beside = Variant(node_exporter=True)
    measured = exported(metal, request.param, ["rapl-sysfs"], frozenset(), 1, beside)
    shown = exported(vm, request.param, [], frozenset({"gap", "restart"}), 2, beside)
    bare = [(scrapes, [own for own in families if not own.curves[0].energy]) for scrapes, families in shown]
    write_schedule(home / "schedule.json", metal, "metal")
    write_node_truth(home / "truth.parquet", vm)
    servers = []
    for name, nodes in (("metal", measured), ("vm", bare)):
        write_history(home / f"{name}.om", nodes)
        servers.append(PrometheusServer(home / name))
        servers[-1].fill(home / f"{name}.om")
    with servers[0], servers[1]:
        truth = pd.read_parquet(home / "truth.parquet")
        yield Machines(request.param, servers[0].url, servers[1].url, home / "schedule.json", truth)


def done(told: tuple[int, list[str], list[str]]) -> list[str]:
    code, lines, errors = told
    assert (code, errors) == (0, [])
    return lines


def test_a_machine_without_a_meter_is_estimated_by_the_model_of_another(
    machines: Machines, kepler_train: KeplerTrain
) -> None:
    for group, most in GROUPS[machines.dialect].items():
        of = ["-fg", group, "-e", "rapl-sysfs"]
        done(kepler_train("query", "--server", machines.metal, *WINDOW, *of, "-o", "metal"))
        trained = ["-p", "lab", "-ot", "AbsPower", "--abs-trainers", TRAINER, "--schedule", str(machines.schedule)]
        done(kepler_train("train", "-i", "metal", *of, *trained))

        code, _, errors = kepler_train("query", "--server", machines.vm, *WINDOW, *of, "-o", "vm")
        assert (code, len(errors)) == (3, 1)
        assert "has no energy counters of Kepler for rapl-sysfs" in errors[0]
        done(kepler_train("query", "--server", machines.vm, *WINDOW, *of, "--to-estimate", "-o", "vm"))
        model = f"lab/rapl-sysfs/AbsPower/{group}/{TRAINER}_0.zip"
        lines = done(kepler_train("estimate", "--model", model, "--data", "vm", "-o", "estimated"))
        assert "measured" not in "\n".join(lines)

        rows = beside_truth(pd.read_parquet("estimated.parquet"), machines.truth)
        assert 0.6 * 240 * HOURS < len(rows) < 240 * HOURS  # gaps and restarts are no rows
        watts = rows["package_metered_watts"]
        assert ((rows["package_power"] - watts).abs() / watts).mean() < most
        assert watts.between(rows["package_power_low"], rows["package_power_high"]).mean() > 0.9


def beside_truth(found: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Estimates with the truth of the nearest scrape: a node_exporter is scraped 7 s after Kepler."""
    times = pd.to_datetime(found["timestamp"], unit="s", utc=True)
    true = truth.assign(time=truth["time"].astype(times.dtype))
    return pd.merge_asof(found.assign(time=times), true, on="time", direction="nearest")
