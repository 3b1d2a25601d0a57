"""The forest with a trend, over this window and the two before: meters and counters are not read at one moment."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.train.trainers.trend_forest import TrendForestTrainer


class LaggedForestTrainer(TrendForestTrainer):
    """TrendForestTrainer with the features of earlier windows as columns too, for rows that have them."""

    name: ClassVar[str] = "LaggedForestTrainer"
    lags: ClassVar[int] = 2
