"""Error figures and the gate, with numbers a person can check."""

from __future__ import annotations

import pandas as pd
import pytest

from kepler_train.spec import RunSpec
from kepler_train.steps.evaluate import judge, passes_gate
from kepler_train.train.figures import component_figures, worst

ROWS = pd.DataFrame(
    {
        "workload": ["idle", "idle", "cpu", "cpu", "vm"],
        "measured": [0.5, 10.0, 100.0, 50.0, 20.0],
        "predicted": [2.5, 11.0, 90.0, 55.0, 20.0],
    }
)


def test_figures_are_those_that_one_works_out_by_hand() -> None:
    found = component_figures(ROWS, floor=1.0)
    assert found["mae"] == pytest.approx((2 + 1 + 10 + 5 + 0) / 5)
    assert found["rmse"] == pytest.approx(((4 + 1 + 100 + 25 + 0) / 5) ** 0.5)
    assert found["mape"] == pytest.approx(100 * (1 / 10 + 10 / 100 + 5 / 50 + 0) / 4)  # not the row of 0.5 W
    assert found["idle_bias"] == pytest.approx((2 + 1) / 2)
    assert (found["worst_workload"], found["worst_workload_mae"]) == ("cpu", 7.5)
    assert (found["rows"], found["mape_rows"], found["mape_floor"]) == (5, 4, 1.0)
    assert found["mean_power"] == pytest.approx(36.1)


def test_a_figure_without_rows_is_not_given() -> None:
    found = component_figures(ROWS[ROWS["workload"] != "idle"].assign(measured=0.0), floor=1.0)
    assert found["mape"] is None
    assert found["idle_bias"] is None
    assert found["mape_rows"] == 0


def test_a_model_is_as_good_as_its_worst_component() -> None:
    figures = {"package": {"mape": 4.0}, "core": {"mape": 39.0}, "uncore": {"mape": None}}
    assert worst(figures, "mape") == 39.0
    assert worst({"uncore": {"mape": None}}, "mape") is None


def test_the_gate_looks_at_the_blocked_error_and_not_at_the_shuffled_one() -> None:
    blocked = ROWS.assign(protocol="blocked", component="package")
    flattering = blocked.assign(protocol="shuffled", predicted=blocked["measured"])
    verdict = judge(pd.concat([flattering, blocked]), RunSpec())
    assert verdict["mae"] == pytest.approx(3.6)
    assert verdict["mape"] == pytest.approx(7.5)
    assert verdict["figures"]["shuffled"]["package"]["mae"] == 0


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
    assert passes_gate(mae, mape, RunSpec()) is passes
