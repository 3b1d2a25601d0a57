"""Which rows are unlike any that a model was trained on."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kepler_train.errors import UserError
from kepler_train.models.hull import Hull

FEATURES = ["cpu", "cache"]


def frame(values: list[tuple[float, ...]] | np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(values, dtype=float), columns=FEATURES[: np.shape(values)[1]])


@given(arrays(float, st.tuples(st.integers(1, 30), st.just(2)), elements=st.floats(-1e12, 1e12)))
@example(np.array([[3.0, 2.3e-308]]))  # a rate so small that others divided by it are no numbers
@settings(max_examples=60)
def test_training_rows_are_inside_their_own_hull_and_points_far_away_are_not(values: np.ndarray) -> None:
    rows = frame(values)
    hull = Hull.read(json.loads(json.dumps(Hull.of(rows, FEATURES).as_dict())))
    assert not hull.outside(rows).any()
    far = frame(values.max(axis=0, keepdims=True) + 2 * np.ptp(values, axis=0) + np.abs(values).max() + 1)
    assert hull.outside(far).all()


@given(st.lists(st.floats(0, 1), min_size=3, max_size=20), st.floats(0, 1))
def test_what_is_between_two_training_rows_is_inside(load: list[float], place: float) -> None:
    rows = frame([(1000 * value, 5e6 * value**2) for value in load])
    hull = Hull.of(rows, FEATURES)
    assert not hull.outside(rows.iloc[[0]] * place + rows.iloc[[-1]].to_numpy() * (1 - place)).any()


def test_features_that_always_rose_together_and_now_do_not_are_outside_though_each_is_in_its_range() -> None:
    hull = Hull.of(frame([(load, 10 * load) for load in range(101)]), FEATURES)
    asked = frame([(50, 500), (50, 520), (0, 1000), (100, 0), (50, 480)])
    assert hull.outside(asked).tolist() == [False, True, True, True, True]


def test_a_hundredth_of_the_range_beyond_the_data_is_still_inside() -> None:
    hull = Hull.of(frame([(0.0,), (100.0,)]), ["cpu"])
    assert hull.outside(frame([(-0.9,), (100.9,), (-1.1,), (101.1,)])).tolist() == [False, False, True, True]


def test_a_feature_that_never_moved_may_move_by_a_hundredth_of_itself() -> None:
    hull = Hull.of(frame([(50.0, 0.0), (50.0, 0.0)]), FEATURES)
    assert hull.outside(frame([(50.4, 0.0), (51.0, 0.0), (50.0, 3.0)])).tolist() == [False, True, True]


def test_containers_of_a_node_are_parts_of_its_rows_down_to_nothing() -> None:
    rows = frame([(80.0, 800.0), (100.0, 1000.0)])
    container = frame([(0.0, 0.0), (10.0, 100.0)])
    assert Hull.of(rows, FEATURES).outside(container).all()
    assert not Hull.of(rows, FEATURES, parts=True).outside(container).any()


def test_what_is_not_a_number_is_outside() -> None:
    assert Hull.of(frame([(0.0,), (1.0,)]), ["cpu"]).outside(frame([(float("nan"),)])).all()


@pytest.mark.parametrize("broken", [{}, {"features": FEATURES, "scale": [1, 1], "low": [0], "high": [1]}])
def test_a_hull_that_is_cut_short_is_refused_in_one_sentence(broken: dict[str, object]) -> None:
    with pytest.raises(UserError, match="hull of the model"):
        Hull.read(broken)
