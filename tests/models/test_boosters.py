"""Trees of XGBoost are checked as data before XGBoost sees them, and predict to the bit what they did."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xgboost
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.models.boosters import read_booster
from kepler_train.models.tree_structure import NotTrees, check_trees

X = np.random.default_rng(0).uniform(0, [2e10, 4000], (200, 2))
Y = 20 + 5e-9 * X[:, 0] + 1e-3 * np.abs(X[:, 1] - 2000)
Document = dict[str, Any]


def trained(rounds: int = 8, **parameters: Any) -> bytes:
    parameters = {"nthread": 1, "max_depth": 3} | parameters
    return bytes(xgboost.train(parameters, xgboost.DMatrix(X, Y), rounds).save_raw("json"))


WHOLE = trained()


def changed(change: Callable[[Document], Any], content: bytes = WHOLE) -> bytes:
    document = json.loads(content)
    change(document)
    return json.dumps(document).encode()


def model_of(document: Document) -> Document:
    return document["learner"]["gradient_booster"]["model"]


def first_tree(document: Document) -> Document:
    return model_of(document)["trees"][0]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_depth": 0, "grow_policy": "lossguide", "max_leaves": 40},
        {"tree_method": "exact", "gamma": 100.0},  # nodes that pruning has deleted stay in the lists
        {"num_parallel_tree": 4, "subsample": 0.5},
        {"objective": "reg:absoluteerror"},
        {"objective": "reg:quantileerror", "quantile_alpha": 0.5},
        {"objective": "reg:pseudohubererror"},
        {"objective": "reg:squaredlogerror"},
        {"objective": "reg:gamma"},
        {"objective": "reg:tweedie"},
        {"objective": "count:poisson"},
    ],
    ids=str,
)
def test_a_booster_is_what_it_was_to_the_last_bit(parameters: Document) -> None:
    content = trained(**parameters)
    theirs = xgboost.Booster()
    theirs.load_model(bytearray(content))
    ours = read_booster(content, "it", 2)
    np.testing.assert_array_equal(ours.inplace_predict(X), theirs.inplace_predict(X))
    assert bytes(ours.save_raw("json")) == content


def test_names_attributes_and_spaces_change_nothing() -> None:
    rows = xgboost.DMatrix(X, Y, feature_names=["cpu_cycles", "ms"], feature_types=["float", "float"])
    booster = xgboost.train({"nthread": 1}, rows, 2)
    booster.set_attr(note='from "node-3" é')
    content = bytes(booster.save_raw("json"))
    assert bytes(read_booster(content, "it", 2).save_raw("json")) == content
    spaced = json.dumps(json.loads(content), indent=1).encode()
    assert bytes(read_booster(spaced, "it", 2).save_raw("json")) == content


def _set(name: str, position: int, value: Any) -> Callable[[Document], Any]:
    return lambda document: first_tree(document)[name].__setitem__(position, value)


LAST = len(first_tree(json.loads(WHOLE))["left_children"]) - 1
FEWER = "its lists of nodes differ in length"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("left_children", 0, 0), "a child is not among the nodes after its parent"),
        (_set("left_children", 1, 1), "a child is not among the nodes after its parent"),
        (_set("right_children", 0, 10_000_000), "a child is not among the nodes after its parent"),
        (_set("left_children", 0, -2), "a child is not among the nodes after its parent"),
        (_set("left_children", 0, -1), "a node has one child"),
        (_set("left_children", 0, 2), "a node is not the child of exactly one other"),
        (_set("left_children", 0, LAST), "a node is not the child of exactly one other"),
        (_set("left_children", 0, 2**31), "left_children are something else than numbers of nodes"),
        (_set("left_children", 0, 1.0), "left_children are something else than numbers of nodes"),
        (_set("left_children", 0, "1"), "left_children are something else than numbers of nodes"),
        (_set("left_children", 0, [1]), "left_children are something else than numbers of nodes"),
        (_set("left_children", 0, None), "left_children are something else than numbers of nodes"),
        (_set("parents", 1, 2), "the parent of a node is another"),
        (_set("parents", 0, 1), "the parent of a node is another"),
        (_set("split_indices", 0, 2), "a node reads another column than the 2 there are"),
        (_set("split_indices", 0, -1), "a node reads another column than the 2 there are"),
        (_set("split_indices", LAST, 7), "a node reads another column than the 2 there are"),
        (_set("split_indices", 0, 2**31 - 1), "a deleted node is part of a tree"),
        (_set("split_indices", LAST, 2**31 - 1), "a deleted node is part of a tree"),
        (_set("split_conditions", 0, 1e39), "split_conditions are beyond float32"),
        (_set("split_conditions", 0, "1"), "split_conditions are something else than numbers of nodes"),
        (_set("split_conditions", LAST, 1e35), "a leaf is not from"),
        (_set("base_weights", 0, 1e300), "base_weights are beyond float32"),
        (_set("split_type", 0, 1), "splits by something else than a threshold"),
        (_set("default_left", 0, 2), "splits by something else than a threshold"),
        (lambda it: first_tree(it)["left_children"].append(-1), FEWER),
        (lambda it: first_tree(it)["sum_hessian"].pop(), FEWER),
        (lambda it: first_tree(it).update(parents={}), FEWER),
        (lambda it: first_tree(it).update(left_children=[]), "a tree has no nodes"),
        (lambda it: first_tree(it).update(categories=[1]), "split by categories"),
        (lambda it: first_tree(it)["tree_param"].update(num_nodes="3"), "a tree says something else of itself"),
        (lambda it: first_tree(it)["tree_param"].update(num_deleted="1"), "a tree says something else of itself"),
        (lambda it: first_tree(it)["tree_param"].update(size_leaf_vector="9"), "a tree says something else of itself"),
        (lambda it: first_tree(it).pop("tree_param"), "'tree_param' is missing"),
        (lambda it: model_of(it)["trees"].pop(), "it has 7 trees and says '8'"),
        (lambda it: model_of(it).update(trees=[3] * 8), "3 is in the place of an object"),
        (lambda it: model_of(it)["tree_info"].__setitem__(0, 1), "its trees are of several classes"),
        (lambda it: model_of(it)["tree_info"].pop(), "is in the place of a list of 8"),
        (lambda it: model_of(it)["iteration_indptr"].__setitem__(1, 9), "is not a whole number from 0 to 8"),
        (lambda it: model_of(it)["iteration_indptr"].reverse(), "its rounds are not those of its trees"),
        (lambda it: model_of(it)["iteration_indptr"].clear(), "its rounds are not those of its trees"),
        (lambda it: model_of(it)["cats"]["enc"].append(1), "its trees split by categories"),
        (lambda it: it["learner"]["gradient_booster"].update(name="dart"), "'dart' is another booster than gbtree"),
        (lambda it: it["learner"]["objective"].update(name="multi:softmax"), "is no objective of power"),
        (lambda it: it["learner"]["objective"].pop("name"), "is no objective of power"),
        (lambda it: it["learner"]["learner_model_param"].update(num_class="3"), "something else than one number"),
        (lambda it: it["learner"]["learner_model_param"].update(num_target="2"), "something else than one number"),
        (lambda it: it["learner"]["learner_model_param"].update(num_feature="3"), "over '3' features instead of 2"),
        (lambda it: it["learner"]["learner_model_param"].update(base_score="[nan]"), "is not a number up to 1e"),
        (lambda it: it["learner"]["learner_model_param"].update(base_score="1e39"), "is not a number up to 1e"),
        (lambda it: it["learner"]["learner_model_param"].update(base_score=0.5), "is not a number up to 1e"),
        (lambda it: it["learner"]["learner_model_param"].pop("base_score"), "'base_score' is missing"),
        (lambda it: it["learner"].update(feature_types=["c", "c"]), "something else than a number"),
        (lambda it: it["learner"].update(feature_names=["a"]), "in the place of a list of 2"),
        (lambda it: it["learner"].update(feature_names=["a", "b\0"]), "cannot be printed|NUL"),
        (lambda it: it["learner"].update(attributes={"a": 3}), "3 is no text"),
        (lambda it: it.update(version=[3, 2]), "in the place of a list of 3"),
        (lambda it: it.update(learner=[]), "a list is in the place of an object"),
    ],
)
def test_what_is_no_tree_is_refused_before_xgboost_sees_it(
    change: Callable[[Document], Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xgboost.Booster, "load_model", lambda *_: pytest.fail("XGBoost has seen it"))
    with pytest.raises(UserError, match=f"it is not a model of boosted trees: .*({words})"):
        read_booster(changed(change), "it", 2)


@pytest.mark.parametrize(
    "content",
    [
        WHOLE.replace(b'"learner":{', b'"learner":{"objective":{},', 1),  # a key twice
        WHOLE.replace(b'"left_children":[', b'"left_children":[9],"left_children":[', 1),
        WHOLE.replace(b"left_children", rb"left\u005fchildren", 1)[:-1],
        WHOLE[: len(WHOLE) // 2],
        WHOLE.replace(b"[3,2,0]", b"[3,2,NaN]"),
        b"[" * 10_000,
        b"",
        b"\xff",
        b"null",
    ],
)
def test_json_that_is_read_in_two_ways_is_refused(content: bytes) -> None:
    with pytest.raises(UserError, match=r"^it is not a model of boosted trees: "):
        read_booster(content, "it", 2)


def test_an_escaped_key_is_the_key_that_it_stands_for() -> None:
    content = WHOLE.replace(b"left_children", rb"left\u005fchildren", 1)
    assert bytes(read_booster(content, "it", 2).save_raw("json")) == WHOLE


def test_a_tree_that_is_a_line_of_many_levels_is_refused() -> None:
    def line(levels: int) -> None:
        count = 2 * levels + 1
        left, right = np.full(count, -1), np.full(count, -1)
        inner = np.arange(levels) * 2
        left[inner], right[inner] = inner + 1, inner + 2
        assert check_trees([count], left, right).depth == levels

    line(1000)
    with pytest.raises(NotTrees, match="more than 1000 levels"):
        line(1001)


_numbers = st.integers(-3, 20) | st.sampled_from([2**31 - 1, 2**31, -(2**31), 2**63, 1e30, 1e39, 0.5, "1", None, []])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_trees_with_other_numbers_are_refused_or_predict_finite_power(data: st.DataObject) -> None:
    document = json.loads(WHOLE)
    for _ in range(data.draw(st.integers(1, 3), "changes")):
        tree = model_of(document)["trees"][data.draw(st.integers(0, 7), "tree")]
        name = data.draw(st.sampled_from(sorted(set(tree) - {"tree_param"})), "list")
        values = tree[name] if isinstance(tree[name], list) else []
        how = data.draw(st.sampled_from(["set", "copy", "drop", "add", "swap"]), "how")
        place = data.draw(st.integers(0, max(len(values) - 1, 0)), "place")
        if how == "swap":
            other = data.draw(st.sampled_from(sorted(set(tree) - {"tree_param"})), "other")
            tree[name], tree[other] = tree[other], tree[name]
        elif how == "copy":
            model_of(document)["trees"][0] = copy.deepcopy(tree)
        elif how == "add" or not values:
            values.append(data.draw(_numbers, "number"))
        elif how == "drop":
            values.pop(place)
        else:
            values[place] = data.draw(_numbers, "number")
    try:
        booster = read_booster(json.dumps(document).encode(), "it", 2)
    except UserError:
        return
    assert np.isfinite(booster.inplace_predict(X)).all()
