"""`auto` on the rows of a real machine: fitted to the first 70 % of time, judged once on the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kepler_train.evaluate.protocols import Protocol, gap_of, splits
from kepler_train.extract.row_times import RowTimes, workloads_or_blocks
from kepler_train.extract.user_frame import read_user_frame
from kepler_train.models.lags import lagged_names, with_lags
from kepler_train.train.trainers.auto import AutoTrainer
from kepler_train.train.training_set import training_sets


# Mean |error| in W: what was reached when docs/accuracy.md was written, and a fiftieth more. The best of the ten
# trainers of earlier systems made 8.6, 2.92 and 15.7 there.
@pytest.mark.parametrize(
    ("group", "component", "most"),
    [("CounterOnly", "package", 6.76), ("CounterOnly", "dram", 2.28), ("BPFOnly", "package", 15.6)],
)
def test_load_of_later_hours_is_predicted_from_earlier_ones(
    shared_data: Path, group: str, component: str, most: float
) -> None:
    given = read_user_frame(shared_data / f"nx12/preprocess_abs_default_rapl_{group}.csv", "rapl-sysfs", "nx12")
    frame = with_lags(workloads_or_blocks(given.whole(), 5), given.features, AutoTrainer.lags)
    features, column = lagged_names(given.features, AutoTrainer.lags), f"rapl-sysfs/{component}_power"
    data = training_sets(frame, features, {component: column}, group, intercept=True, seed=0)[component]
    ((inside, outside),) = splits(Protocol.FORWARD, RowTimes.of(frame), 5, 0, gap_of(len(frame), 5, AutoTrainer.lags))
    model = AutoTrainer().fit(data.take(inside))
    assert np.abs(model.predict(data.X[outside]) - data.y[outside]).mean() < most
