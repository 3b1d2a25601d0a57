"""Least squares without negative weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from kepler_train.extract.nnls import nonnegative_weights


def test_a_column_that_would_cost_less_than_nothing_gets_none() -> None:
    columns, y = np.array([[1.0, 0], [1, 1]]), np.array([2.0, 1])
    # Without a limit the weights are 2 and −1; without the second column the first is best at 1.5.
    assert nonnegative_weights(columns.T @ columns, columns.T @ y).tolist() == pytest.approx([1.5, 0])


@given(st.integers(1, 8), st.integers(0, 100_000), st.floats(-1, 1))
def test_weights_are_those_of_scipy(columns: int, seed: int, shift: float) -> None:
    chance = np.random.default_rng(seed)
    A = chance.normal(shift, 1, (60, columns))
    y = A @ chance.normal(0.3, 1, columns) + chance.normal(0, 0.5, 60)
    found = nonnegative_weights(A.T @ A, A.T @ y)
    assert (found >= 0).all()
    assert found == pytest.approx(nnls(A, y)[0], abs=1e-7)


def test_columns_that_say_nothing_get_no_weight() -> None:
    assert nonnegative_weights(1e-9 * np.eye(3), np.zeros(3)).tolist() == [0, 0, 0]
    assert nonnegative_weights(np.eye(2), np.array([-1.0, -2])).tolist() == [0, 0]
