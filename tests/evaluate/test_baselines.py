"""What a trivial model is called: by what it was really made of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fitting import training_rows

from kepler_train.evaluate.baselines import title
from kepler_train.evaluate.evaluation import TrainingSummary
from kepler_train.models.metadata import PreviousModel
from kepler_train.train.held_out import cpu_time, cpu_time_feature

COUNTERS = ["cache_miss", "cpu_cycles", "cpu_instructions"]


@pytest.mark.parametrize(
    ("columns", "feature"),
    [
        ({}, "cpu_instructions"),
        ({"cpu_usage_ratio": 7.0}, "cpu_usage_ratio"),
        ({"cpu_usage_ratio": 7.0, "bpf_cpu_time_ms": 8.0}, "bpf_cpu_time_ms"),
        ({"cpu_usage_ratio": 7.0, "bpf_cpu_time_ms": np.nan}, "cpu_usage_ratio"),
    ],
)
def test_cpu_time_is_taken_from_the_rows_and_else_the_main_feature_stands_for_it(
    columns: dict[str, float], feature: str
) -> None:
    X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    data = training_rows(X, np.array([10.0, 20.0]), features=COUNTERS, main=2)
    frame = pd.DataFrame(X, columns=COUNTERS).assign(**columns)
    assert cpu_time_feature(frame, data) == feature
    assert cpu_time(frame, data).tolist() == frame[feature].tolist()


def test_a_line_is_called_by_its_features_and_has_idle_power_for_nodes_only() -> None:
    counters = {"package": "cpu_instructions", "core": "cpu_instructions", "dram": "cache_miss"}
    dyn = TrainingSummary(output_type="DynPower", trivial_features=counters)
    assert title("cpu_time", dyn, ["dram"]) == "linear in cache_miss"
    assert title("cpu_time", dyn, counters) == "linear in cpu_instructions (dram: cache_miss)"
    of_node = TrainingSummary(output_type="AbsPower", trivial_features=dict.fromkeys(counters, "bpf_cpu_time_ms"))
    assert title("cpu_time", of_node, counters) == "idle + linear in CPU time"


@pytest.mark.parametrize(("overlaps", "more"), [(False, ""), (True, ", which saw some of these rows")])
def test_the_version_before_is_named_with_what_it_saw(overlaps: bool, more: str) -> None:
    about = TrainingSummary(previous=PreviousModel(model="auto_2", overlaps=overlaps))
    assert title("previous", about, ["package"]) == f"the version published before: auto_2{more}"
