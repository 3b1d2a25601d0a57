"""Containers have their share of what a model of dynamic power says of their node."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from kepler_train.errors import DataError, UserError
from kepler_train.estimate.estimates import predict_rows
from kepler_train.models import ComponentModel, Fitted, LinearModel, Matrix, PowerModel, Watts
from kepler_train.models.metadata import Interval, Training

INTERVAL = {"package": Interval(level=0.9, constant=5.0, share=0.1)}  # ± (5 W + a tenth)
DYNAMIC = Training(output_type="DynPower", interval=INTERVAL)
BY_RULE = DYNAMIC.model_copy(
    update={"attribution": "proportional", "sharing": {"package": {"cycles": 1.0, "misses": 0.0}}}
)


class Root:
    """10·√cycles + 3 W: neither additive nor 0 W for no work."""

    def predict(self, X: Matrix) -> Watts:
        return np.asarray(10 * np.sqrt(X[:, 0]) + 3)


def root() -> PowerModel:
    return PowerModel("Root", 0, {"package": Fitted(["cycles"], cast("ComponentModel", Root()))})


def containers(**cycles: list[float]) -> pd.DataFrame:
    """A row for each container and window, in an order of no meaning."""
    windows = len(next(iter(cycles.values())))
    times = pd.date_range("2026-11-16", periods=windows, freq="15s", tz="UTC")
    parts = [
        pd.DataFrame({"time": times, "node": "n", "container": name, "cycles": own, "misses": 7.0})
        for name, own in cycles.items()
    ]
    return pd.concat(parts, ignore_index=True).sample(frac=1, random_state=0).reset_index(drop=True)


def by_container(rows: pd.DataFrame, watts: Watts) -> dict[str, list[float]]:
    ordered = rows.assign(watts=watts).sort_values(["container", "time"])
    return {str(name): own["watts"].round(9).tolist() for name, own in ordered.groupby("container")}


def test_containers_share_by_the_rule_what_the_model_says_of_their_node() -> None:
    rows = containers(a=[9.0, 4.0], b=[16.0, 0.0])
    found = predict_rows(root(), BY_RULE, rows)["package"]
    # 25 cycles are 53 W, of which 9/25 and 16/25; then 4 cycles are 23 W.
    assert by_container(rows, found.predicted) == {"a": [19.08, 23.0], "b": [33.92, 0.0]}
    # The node is within 53 ± 10.3 W, then 23 ± 7.3 W.
    assert by_container(rows, found.low) == {"a": [15.372, 15.7], "b": [27.328, 0.0]}
    assert by_container(rows, found.high) == {"a": [22.788, 30.3], "b": [40.512, 0.0]}


def test_containers_of_an_additive_model_have_what_it_says_of_each() -> None:
    model = PowerModel("Linear", 0, {"package": Fitted(["cycles"], LinearModel(0.0, np.array([2.0]), np.ones(1)))})
    rows = containers(a=[9.0], b=[16.0])
    found = predict_rows(model, DYNAMIC, rows)["package"]
    assert by_container(rows, found.predicted) == {"a": [18.0], "b": [32.0]}
    assert by_container(rows, found.high) == {"a": [21.6], "b": [38.4]}  # together 60 W: 50 + 5 + a tenth of 50


def test_power_of_a_window_without_work_is_nobodys() -> None:
    rows = containers(a=[0.0], b=[0.0])
    found = predict_rows(root(), BY_RULE, rows)["package"]
    assert [list(ends) for ends in found[:3]] == [[0.0, 0.0]] * 3


def test_windows_of_two_nodes_are_shared_apart() -> None:
    one, other = containers(a=[9.0], b=[16.0]), containers(a=[0.0], b=[4.0]).assign(node="m")
    found = predict_rows(root(), BY_RULE, pd.concat([one, other], ignore_index=True))["package"]
    assert sorted(found.predicted.round(2).tolist()) == [0.0, 19.08, 23.0, 33.92]


def test_rows_of_nodes_have_all_of_it() -> None:
    rows = containers(a=[9.0]).drop(columns="container")
    for metadata in (BY_RULE, Training(output_type="AbsPower", interval=INTERVAL)):
        assert predict_rows(root(), metadata, rows)["package"].predicted.tolist() == [33.0]


def test_what_has_no_weight_need_not_be_there_nor_have_values() -> None:
    rows = containers(a=[9.0], b=[16.0])
    expected = predict_rows(root(), BY_RULE, rows)["package"].predicted.tolist()
    for other in (rows.drop(columns="misses"), rows.assign(misses=np.nan)):
        assert predict_rows(root(), BY_RULE, other)["package"].predicted.tolist() == expected


def test_what_has_a_weight_must_have_values() -> None:
    both = BY_RULE.model_copy(update={"sharing": {"package": {"cycles": 1.0, "misses": 1.0}}})
    with pytest.raises(DataError, match="1 of 2 rows have no finite value of misses"):
        predict_rows(root(), both, containers(a=[9.0], b=[16.0]).assign(misses=[np.nan, 1.0]))


@pytest.mark.parametrize(
    ("altered", "words"),
    [
        ({"sharing": {}}, "does not say how containers share"),
        ({"sharing": {"dram": {}}}, "does not say how containers share"),
        ({"sharing": {"package": {"instructions": 1.0}}}, "needs instructions, which the data do not have"),
    ],
)
def test_a_rule_that_is_not_there_is_one_sentence(altered: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        predict_rows(root(), BY_RULE.model_copy(update=altered), containers(a=[1.0]))
