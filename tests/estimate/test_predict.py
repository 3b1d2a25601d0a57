"""Power from plain numbers: the same as from a frame, for every kind of model, and without pandas."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fitting import FEATURES, node_rows, training_rows

from kepler_train.errors import DataError, UserError
from kepler_train.estimate.estimates import predict_rows
from kepler_train.estimate.predict import predict, with_earlier_windows
from kepler_train.models import Fitted, PowerModel
from kepler_train.models.hull import Hull
from kepler_train.models.lags import lagged_names, with_lags
from kepler_train.models.metadata import Interval, Training
from kepler_train.train.trainer import trainer

LOADS = ["cpu", "memory", "idle", "cpu"]
FRAME = node_rows(160, LOADS)
INTERVAL = {"package": Interval(level=0.9, constant=2.0, share=0.1)}
KINDS = {
    "linear": "LinearRegressionTrainer",
    "curve": "ExponentialRegressionTrainer",
    "trees": "XgboostFitTrainer",
    "estimator": "KNeighborsRegressorTrainer",
    "support vectors": "SVRRegressorTrainer",
    "terms": "PiecewiseLinearTrainer",
    "blend": "TrendForestTrainer",
    "ensemble": "auto",
}


@cache
def trained(name: str, lags: int = 0) -> PowerModel:
    features = lagged_names(FEATURES, lags)
    rows = with_lags(FRAME, FEATURES, lags)
    data = training_rows(
        rows[features].to_numpy(), rows["package"].to_numpy(), features=features, workloads=FRAME["workload"].tolist()
    )
    return PowerModel(name, 0, {"package": Fitted.select(features, trainer(name).fit(data))})


def metadata(output_type: str = "AbsPower", **more: Any) -> Training:
    hull = Hull.of(FRAME, FEATURES, parts=output_type == "DynPower").as_dict()
    return Training(output_type=output_type, interval=INTERVAL, hull={"package": hull}, **more)


@pytest.mark.parametrize("name", KINDS.values(), ids=KINDS.keys())
def test_one_row_of_numbers_gives_what_a_frame_gives(name: str) -> None:
    model = trained(name)
    whole = predict_rows(model, metadata(), FRAME)["package"]
    for row in (0, 77, 159):
        features = {feature: float(FRAME[feature].iloc[row]) for feature in FEATURES}
        one = predict(model, metadata(), features)["package"]
        assert [len(values) for values in one] == [1, 1, 1, 1]
        assert [values[0] for values in one] == pytest.approx([values[row] for values in whole], rel=1e-6)


@pytest.mark.parametrize("name", KINDS.values(), ids=KINDS.keys())
def test_several_rows_of_numbers_are_the_rows_of_a_frame_exactly(name: str) -> None:
    columns = {feature: FRAME[feature].tolist() for feature in FEATURES}
    from_frame, from_numbers = (
        predict_rows(trained(name), metadata(), FRAME),
        predict(trained(name), metadata(), columns),
    )
    for expected, found in zip(from_frame["package"], from_numbers["package"], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_interval_and_the_flag_come_with_the_power() -> None:
    model = trained("LinearRegressionTrainer")  # 20 W + 0.03 W per ms/s + 0.002 W per hit/s
    inside = predict(model, metadata(), {"bpf_cpu_time_ms": 1000.0, "bpf_page_cache_hit": 1000.0})["package"]
    assert [float(values[0]) for values in inside] == pytest.approx([52.0, 44.8, 59.2, 0.0])  # ± (2 W + a tenth)
    beyond = predict(model, metadata(), {"bpf_cpu_time_ms": 9000.0, "bpf_page_cache_hit": 1000.0})["package"]
    assert beyond.outside.tolist() == [True]


@pytest.mark.parametrize("attribution", ["additive", "proportional"])
def test_containers_share_the_power_of_their_node(attribution: str) -> None:
    model = trained("LinearRegressionTrainer")
    about = metadata("DynPower", attribution=attribution, sharing={"package": {"bpf_cpu_time_ms": 1.0}})
    frame = pd.DataFrame(
        {
            "time": pd.to_datetime([0, 0, 15, 15], unit="s", utc=True),
            "node": "a",
            "container": ["x", "y", "x", "y"],
            "bpf_cpu_time_ms": [300.0, 100.0, 0.0, 50.0],
            "bpf_page_cache_hit": [10.0, 20.0, 30.0, 40.0],
        }
    )
    columns = {name: frame[name].to_numpy() for name in FEATURES}
    found = predict(model, about, columns, np.array([0, 0, 1, 1]))["package"]
    for expected, values in zip(predict_rows(model, about, frame)["package"], found, strict=True):
        np.testing.assert_array_equal(values, expected)
    if attribution == "proportional":  # 400 ms/s and 30 hits/s are 32.06 W, of which three quarters
        assert found.predicted[:2].tolist() == pytest.approx([24.045, 8.015], rel=1e-3)


def test_earlier_windows_are_given_or_asked_for() -> None:
    model = trained("LaggedForestTrainer", lags=2)
    whole = predict_rows(model, metadata(), FRAME)["package"].predicted
    windows = FRAME[FEATURES].to_dict("records")
    for last in (0, 1, 90):  # the first has none before it
        features = with_earlier_windows(model, windows[: last + 1])
        assert predict(model, metadata(), features)["package"].predicted[0] == pytest.approx(whole[last])
    with pytest.raises(UserError, match="looks at earlier windows: give bpf_cpu_time_ms@-1"):
        predict(model, metadata(), windows[90])


def test_what_is_missing_or_not_a_number_is_one_sentence() -> None:
    model = trained("LinearRegressionTrainer")
    with pytest.raises(UserError, match="needs bpf_page_cache_hit, which the data do not have"):
        predict(model, metadata(), {"bpf_cpu_time_ms": 1.0})
    with pytest.raises(DataError, match="1 of 1 rows have no finite value of bpf_page_cache_hit"):
        predict(model, metadata(), {"bpf_cpu_time_ms": 1.0, "bpf_page_cache_hit": float("nan")})


def test_one_row_needs_no_pandas() -> None:
    program = """
import sys
import numpy as np
from kepler_train.estimate.predict import predict
from kepler_train.models import Fitted, LinearModel, PowerModel
from kepler_train.models.metadata import Interval, Training
model = PowerModel("m", 0, {"package": Fitted(["cpu"], LinearModel(20.0, np.array([3.0]), np.array([100.0])))})
metadata = Training(output_type="AbsPower", interval={"package": Interval(level=0.9, constant=1.0, share=0.0)})
found = predict(model, metadata, {"cpu": 200.0})["package"]
print(found.predicted[0], found.low[0], found.high[0], sorted({"pandas", "pyarrow", "sklearn"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "26.0 25.0 27.0 []\n"
