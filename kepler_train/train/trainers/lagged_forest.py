"""Randomised trees with a trend (W), over this window and the two before: power and work are not read at one moment."""

from __future__ import annotations

from kepler_train.train.trainers.trend_forest import TrendForestTrainer


class LaggedForestTrainer(TrendForestTrainer):
    """TrendForestTrainer with the features of earlier windows as columns too, for rows that have them."""

    name = "LaggedForestTrainer"
    lags = 2
