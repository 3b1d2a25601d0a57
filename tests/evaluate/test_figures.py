"""Error figures and the gate, with numbers a person can check."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kepler_train.evaluate.evaluation import TrainingSummary
from kepler_train.evaluate.figures import all_figures, component_figures, worst
from kepler_train.evaluate.gate import refusal
from kepler_train.evaluate.judged import Coded, HeldOut
from kepler_train.evaluate.judging import judge
from kepler_train.models.metadata import ErrorFigures
from kepler_train.spec import RunSpec

ROWS = pd.DataFrame(
    {
        "time": pd.date_range("2026-11-14", periods=5, freq="3s", tz="UTC"),
        "node": "a",
        "component": "package",
        "workload": ["idle", "idle", "cpu", "cpu", "vm"],
        "measured": [0.5, 10.0, 100.0, 50.0, 20.0],
        "predicted": [2.5, 11.0, 90.0, 55.0, 20.0],
    }
)


def figures(rows: pd.DataFrame, floor: float = 1.0) -> ErrorFigures:
    measured, predicted = rows["measured"].to_numpy(), rows["predicted"].to_numpy()
    return component_figures(measured, predicted, Coded.of(rows["workload"]), floor, 3.0, by_workload=True)


def test_figures_are_those_that_one_works_out_by_hand() -> None:
    found = figures(ROWS)
    assert found.mae == pytest.approx((2 + 1 + 10 + 5 + 0) / 5)
    assert found.rmse == pytest.approx(((4 + 1 + 100 + 25 + 0) / 5) ** 0.5)
    assert found.p95 == pytest.approx(5 + 0.8 * (10 - 5))  # between the fourth and the fifth: 0.95 · 4 = 3.8
    assert found.mape == pytest.approx(100 * (1 / 10 + 10 / 100 + 5 / 50 + 0) / 4)  # not the row of 0.5 W
    assert found.idle_bias == pytest.approx((2 + 1) / 2)
    assert (found.worst_workload, found.worst_workload_mae) == ("cpu", 7.5)
    assert (found.rows, found.mape_rows, found.mape_floor) == (5, 4, 1.0)
    assert found.mean_power == pytest.approx(36.1)


def test_the_energy_of_a_workload_is_that_of_its_windows_together() -> None:
    found = figures(ROWS)  # windows of 3 s
    assert found.workloads["cpu"].content() == {
        "rows": 2,
        "mae": 7.5,
        "joules": pytest.approx(3 * (100 + 50)),
        "joules_off": pytest.approx(3 * (-10 + 5)),
        "energy_error": pytest.approx(100 * -5 / 150),
    }
    assert found.workloads["idle"].energy_error == pytest.approx(100 * 3 / 10.5)
    assert (found.energy_worst_workload, found.energy_error_joules) == ("idle", pytest.approx(9.0))
    assert found.energy_error == pytest.approx(28.571, abs=0.001)


def test_a_workload_that_takes_next_to_no_power_has_no_share_of_it_to_be_off_by() -> None:
    quiet = ROWS.assign(measured=[0.1, 0.2, 100.0, 50.0, 20.0])
    found = figures(quiet)
    assert found.workloads["idle"].energy_error is None
    assert found.energy_worst_workload == "cpu"


def test_a_workload_without_rows_is_never_the_worst() -> None:
    exact = ROWS[ROWS["workload"] == "vm"]
    loads = Coded(np.array([2]), ["cpu", "idle", "vm"])
    measured = exact["measured"].to_numpy()
    found = component_figures(measured, measured, loads, 1.0, 3.0, by_workload=True)
    assert (found.worst_workload, found.energy_worst_workload, list(found.workloads)) == ("vm", "vm", ["vm"])


def test_power_beyond_all_sense_still_has_figures() -> None:
    found = figures(ROWS.assign(measured=1e300, predicted=3e300))
    assert (found.mae, found.rmse) == (pytest.approx(2e300), pytest.approx(2e300))  # its square is no number
    assert found.energy_error == pytest.approx(200)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = figures(ROWS.assign(measured=1e308, predicted=0.0))  # the sum of two is no number
    assert (beyond.energy_error, beyond.energy_worst_workload) == (None, None)


def test_a_figure_without_rows_is_not_given() -> None:
    found = figures(ROWS[ROWS["workload"] != "idle"].assign(measured=0.0))
    assert [found.mape, found.idle_bias, found.energy_error, found.energy_worst_workload] == [None] * 4
    assert found.mape_rows == 0


def test_a_model_is_as_good_as_its_worst_component() -> None:
    known = figures(ROWS)
    shares = {"package": 4.0, "core": 39.0, "uncore": None}
    found = {name: known.model_copy(update={"mape": share}) for name, share in shares.items()}
    assert worst(found, "mape") == 39.0
    assert worst({"uncore": found["uncore"]}, "mape") is None


def test_workloads_are_told_apart_where_they_were_left_out() -> None:
    both = pd.concat([ROWS.assign(protocol=name) for name in ("blocked", "leave-one-workload-out")])
    found = all_figures(HeldOut.of(both), 1.0)
    assert "workloads" not in found["blocked"]["package"].content()
    assert list(found["leave-one-workload-out"]["package"].workloads) == ["cpu", "idle", "vm"]
    assert all_figures(HeldOut.of(ROWS.assign(protocol="blocked")), 1.0)["blocked"]["package"].workloads


def test_the_gate_looks_at_the_blocked_error_and_not_at_the_shuffled_one() -> None:
    blocked = ROWS.assign(protocol="blocked")
    flattering = blocked.assign(protocol="shuffled", predicted=blocked["measured"])
    verdict = judge(HeldOut.of(pd.concat([flattering, blocked])), RunSpec(), TrainingSummary())
    assert verdict.mae == pytest.approx(3.6)
    assert verdict.mape == pytest.approx(7.5)
    assert verdict.passes
    assert verdict.figures["shuffled"]["package"].mae == 0


@pytest.mark.parametrize(
    ("mae", "mape", "passes"),
    [
        (10, 20, True),
        (10, 100, True),  # one of the two is enough …
        (100, 20, True),
        (10.01, 20.01, False),
        (10, 100.01, False),  # … and both are at most 100
        (100.01, 20, False),
        (3, None, True),  # no row above the floor: watts decide
        (10.01, None, False),
        (None, 5, False),
        (None, None, False),
        (float("nan"), 5, False),
        (5, float("nan"), False),
    ],
)
def test_the_gate(mae: float | None, mape: float | None, passes: bool) -> None:
    assert (refusal({"blocked": (mae, mape)}, RunSpec()) == "") is passes


@pytest.mark.parametrize("protocol", ["leave-one-workload-out", "forward"])
@pytest.mark.parametrize(("mae", "mape", "why"), [(909.4, 80, "909 W"), (5, 104.2, "104 %"), (100, 100, "")])
def test_a_model_that_is_lost_under_a_load_it_never_saw_does_not_pass(
    protocol: str, mae: float, mape: float, why: str
) -> None:
    found = refusal({"blocked": (4.5, 6.0), protocol: (mae, mape)}, RunSpec())
    assert found == (f"{protocol} {why}, above 100" if why else "")


def test_the_length_of_a_window_is_that_of_most() -> None:
    late = ROWS.assign(protocol="blocked", time=lambda rows: rows["time"] + pd.to_timedelta([0, 0, 0, 0, 60], unit="s"))
    found = all_figures(HeldOut.of(late), 1.0)["blocked"]["package"].workloads
    assert found["vm"].joules == pytest.approx(60.0)  # 20 W for 3 s
    assert np.isclose(found["cpu"].joules, 450.0)
