"""`auto` chooses by rows it was given, and by none else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fitting import training_rows
from simulated_rows import COUNTERS, simulated_rows

from kepler_train.models.lags import lagged_names, with_lags
from kepler_train.train.trainers import auto as auto_module
from kepler_train.train.trainers.auto import AutoTrainer, TrainerFailures, folds, rank_trainers
from kepler_train.train.training_set import training_sets

FEW = [
    "LinearRegressionTrainer",
    "ExponentialRegressionTrainer",
    "PiecewiseLinearTrainer",
    "ExtraTreesTrainer",
    "LaggedForestTrainer",
]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five trainers to choose among, for speed."""
    monkeypatch.setattr(auto_module, "house_trainers", lambda: FEW)


def work(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, [1e10, 1000], (count, 2))


def straight(X: np.ndarray) -> np.ndarray:
    return 30 + 8e-9 * X[:, 0] + 0.01 * X[:, 1]  # W


@pytest.mark.usefixtures("few")
def test_the_trainer_whose_law_it_is_comes_first_and_a_curve_of_one_feature_last() -> None:
    X = work(300)
    ranked = [one.name for one in rank_trainers(training_rows(X, straight(X)), 5, 5000, TrainerFailures())]
    assert ranked[0] == "LinearRegressionTrainer"
    assert ranked[-1] == "ExponentialRegressionTrainer"
    assert "LaggedForestTrainer" not in ranked  # auto is given the windows before by itself


@pytest.mark.usefixtures("few")
def test_whom_it_chose_is_known_by_component() -> None:
    X, one = work(300), AutoTrainer()
    one.fit(training_rows(X, straight(X)))
    one.fit(training_rows(X, X[:, 0] ** 2, component="dram"))
    assert one.chosen["package"][0] == "LinearRegressionTrainer"
    assert sorted(one.chosen["package"]) == sorted(set(FEW) - {"LaggedForestTrainer"})  # the nine best of five
    assert one.chosen["dram"][0] != "LinearRegressionTrainer"


@pytest.mark.usefixtures("few")
def test_rows_that_are_held_out_from_it_change_nothing() -> None:
    X, given = work(300), np.arange(200)
    poisoned = straight(X)
    poisoned[200:] = 1e6
    models = [AutoTrainer().fit(training_rows(X, y).take(given)) for y in (straight(X), poisoned)]
    first, second = (model.predict(X) for model in models)
    assert (first == second).all()


def test_a_load_that_was_never_seen_is_predicted_within_three_percent() -> None:
    frame = simulated_rows(hours=3, seed=3)
    rows = with_lags(frame, COUNTERS, AutoTrainer.lags)
    features = lagged_names(COUNTERS, AutoTrainer.lags)
    data = training_sets(rows, features, {"package": "package"}, "CounterOnly", intercept=True, seed=0)["package"]
    held = data.workloads == "stream"
    watts = AutoTrainer().fit(data.take(~held)).predict(data.X[held])
    assert held.sum() > 50
    assert np.mean(np.abs(watts / data.y[held] - 1)) < 0.03


@pytest.mark.usefixtures("few")
def test_a_trainer_that_breaks_down_is_not_chosen_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("kepler_train.train.trainers.piecewise_linear.PiecewiseLinearTrainer.fit", broken)
    X = work(100)
    one = AutoTrainer()
    assert len(one.fit(training_rows(X, straight(X))).members) == 3
    assert one.left_out == {"PiecewiseLinearTrainer": "ZeroDivisionError: by zero"}
    said = "PiecewiseLinearTrainer fails and is left out, for package at least: ZeroDivisionError: by zero"
    assert said in "".join(capsys.readouterr())


OWN = """
from sklearn.dummy import DummyRegressor
import numpy as np
from kepler_train.models import LinearModel

class {name}:
    name, additive, continues, lags = "{name}", {additive}, False, {lags}
    def fit(self, data, before=None):
        {body}
"""
KNOWS_THE_LAW = "return LinearModel(30.0 * data.intercept, np.array([8e-9, 0.01]), np.ones(2))"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes a trainer as users add it."""
    monkeypatch.setenv("KEPLER_TRAIN_TRAINERS", str(tmp_path))

    def write(name: str, body: str, *, additive: bool = True, lags: int = 0) -> None:
        text = OWN.format(name=name, body=body, additive=additive, lags=lags)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")

    return write


@pytest.mark.usefixtures("few")
def test_trainers_that_users_add_are_chosen_among_too(own: Callable[..., None]) -> None:
    own("OracleTrainer", KNOWS_THE_LAW)
    own("PolarTrainer", KNOWS_THE_LAW, additive=False)
    own("PastTrainer", KNOWS_THE_LAW, lags=1)
    X = work(300)
    noisy = straight(X) + np.random.default_rng(1).normal(0, 3, 300)  # the line that is fitted to it is another one
    ranked = [one.name for one in rank_trainers(training_rows(X, noisy), 5, 5000, TrainerFailures())]
    assert ranked[:2] == ["OracleTrainer", "PolarTrainer"]
    assert "PastTrainer" not in ranked  # windows before are auto's to give


@pytest.mark.usefixtures("few")
def test_dynamic_power_is_chosen_for_among_all_trainers_too(own: Callable[..., None]) -> None:
    own("PolarTrainer", KNOWS_THE_LAW, additive=False)
    X = work(300)
    dynamic = training_rows(X, straight(X) - 30 + np.random.default_rng(1).normal(0, 3, 300), intercept=False)
    one = AutoTrainer()
    assert len(one.fit(dynamic).members) == 5
    assert one.chosen["package"][0] == "PolarTrainer"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return LinearModel(np.nan, np.zeros(2), np.ones(2))", "does not say one number of watts for each row"),
        ("return data.y[0]", "AttributeError"),
        (")", "SyntaxError: unmatched ')' (BadTrainer.py, line "),
        # Those that follow stand the choice, and fail at the end: they cannot be kept, or cannot learn from all rows.
        ("return DummyRegressor().fit(data.X, data.y)", "'DummyRegressor' object has no attribute"),
        ("return LinearModel(30.0 if len(data) < 100 else 1 / 0, np.zeros(2), np.ones(2))", "ZeroDivisionError"),
    ],
)
def test_a_trainer_of_a_user_that_cannot_serve_is_left_out_and_named(
    body: str, words: str, own: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    own("BadTrainer", body)
    X = work(100)
    one = AutoTrainer()
    for component in ("package", "core"):  # it fails for both, and is named once
        assert len(one.fit(training_rows(X, straight(X), component=component)).members) == 4
    (said,) = [line for line in capsys.readouterr().out.splitlines() if "BadTrainer" in line]
    assert "auto: BadTrainer fails and is left out, for package at least: " in said
    assert words in said
    assert list(one.left_out) == ["BadTrainer"]
    assert words in one.left_out["BadTrainer"]


@pytest.mark.usefixtures("few")
def test_what_is_fitted_for_the_choice_is_a_draft_and_what_is_kept_is_not(
    own: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    own("SayingTrainer", f"print('draft', data.draft); {KNOWS_THE_LAW}")
    X = work(100)
    AutoTrainer().fit(training_rows(X, straight(X)))
    assert capsys.readouterr().out.split() == ["draft", "True"] * 5 + ["draft", "False"]


def test_rows_that_are_too_few_to_hold_any_out_get_a_line() -> None:
    X = work(4)
    model = AutoTrainer().fit(training_rows(X, straight(X)))
    np.testing.assert_allclose(model.predict(X), straight(X), rtol=1e-6)


@pytest.mark.usefixtures("few")
def test_the_same_rows_and_seed_give_the_same_model() -> None:
    X = work(120)
    y = straight(X) + np.random.default_rng(1).normal(0, 3, 120)
    first, second = (AutoTrainer().fit(training_rows(X, y, seed=5)).predict(X) for _ in range(2))
    assert (first == second).all()


def test_a_fold_holds_out_whole_workloads_and_never_idle_rows() -> None:
    loads = [load for load in ["cpu", "idle", "stream", "vm", "branch", "cache", "regs"] for _ in range(20)]
    data = training_rows(work(140), np.ones(140), workloads=loads)
    held = [set(data.workloads[outside]) for _, outside in folds(data, 5)]
    assert sorted(load for part in held for load in part) == ["branch", "cache", "cpu", "regs", "stream", "vm"]
    for inside, outside in folds(data, 5):
        assert not set(data.workloads[inside]) & set(data.workloads[outside])
        assert "idle" in data.workloads[inside]


def test_without_workloads_a_fold_is_a_block_with_a_gap_around_it() -> None:
    inside, outside = list(folds(training_rows(work(100), np.ones(100)), 5))[1]
    assert outside.tolist() == list(range(20, 40))
    assert inside.tolist() == [*range(16), *range(44, 100)]
