"""Boosters of XGBoost from its JSON, checked as data before XGBoost sees any of it.

XGBoost trusts its files: a child or a column beyond its list is read wherever it points. So the JSON is read and
checked here, and XGBoost is given what was checked, written anew in its binary form. That takes less CPU time than
XGBoost takes for the JSON itself.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kepler_train.errors import UserError
from kepler_train.models.files import MOST_BYTES, MOST_VALUES
from kepler_train.models.numbers import LARGEST, whole
from kepler_train.models.tree_graphs import SUMS
from kepler_train.models.tree_structure import LEAF, MOST_TREES, NotTrees, check_splits, check_trees
from kepler_train.models.ubjson import Encoded, encode, objects, split
from kepler_train.strict_json import name_problem, parse_numbers, shown

if TYPE_CHECKING:
    import xgboost

# Frames have some ten thousand rows, and several models are trained at once: a second thread costs ten times what it
# gives, because idle threads spin.
THREADS = 1
_OBJECTIVES = SUMS | {"reg:squaredlogerror", "reg:gamma", "reg:tweedie", "count:poisson"}
# Lists with an entry for each node of a tree.
_NODES: dict[str, npt.DTypeLike] = {
    "left_children": np.int32,
    "right_children": np.int32,
    "parents": np.int32,
    "split_indices": np.int32,
    "default_left": np.uint8,
    "split_type": np.uint8,
    "split_conditions": np.float32,  # the power of a leaf where an inner node has its threshold
    "base_weights": np.float32,
    "loss_changes": np.float32,
    "sum_hessian": np.float32,
}
# Lists of splits by categories, of which there are none.
_CATEGORIES: dict[str, npt.DTypeLike] = {
    "categories": np.int32,
    "categories_nodes": np.int32,
    "categories_segments": np.int64,
    "categories_sizes": np.int64,
}
_NOWHERE = 2**31 - 1  # the parent of a root, and the column of a node that pruning has deleted
_NUMBER = re.compile(r"\[?([-+0-9.eE]{1,40})\]?")  # `5E0` of XGBoost up to 3.0, `[5E0]` since
_MOST_ATTRIBUTES = 100


def read_booster(content: bytes, where: object, features: int) -> xgboost.Booster:
    """Return the booster of XGBoost's JSON over that many features; refuse anything else in one sentence."""
    import xgboost

    try:
        document = parse_numbers(content, most_bytes=MOST_BYTES, most_values=MOST_VALUES)
        checked = encode(_booster(document, features))
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{where} is not a model of boosted trees: {reason}.") from None
    booster = xgboost.Booster({"nthread": THREADS})
    try:
        booster.load_model(bytearray(checked))
    except xgboost.core.XGBoostError as error:
        raise UserError(f"{where} is not a model of boosted trees: {str(error).splitlines()[0]}.") from None
    return booster


def _booster(document: Any, features: int) -> dict[str, Any]:
    """Return the entries that XGBoost reads, each checked."""
    learner = _object(_object(document)["learner"])
    booster, parameters = _object(learner["gradient_booster"]), _object(learner["learner_model_param"])
    if booster["name"] != "gbtree":
        raise ValueError(f"{shown(booster['name'])} is another booster than gbtree")
    if parameters["num_feature"] != str(features):
        raise ValueError(f"it has trees over {shown(parameters['num_feature'])} features instead of {features}")
    if parameters["num_class"] != "0" or parameters.get("num_target", "1") != "1":
        raise ValueError("it predicts something else than one number")
    _number_in(parameters["base_score"])
    return {
        "learner": {
            "attributes": _attributes(learner["attributes"]),
            "feature_names": _feature_names(learner["feature_names"], features),
            "feature_types": _feature_types(learner["feature_types"], features),
            "gradient_booster": {"model": _model(_object(booster["model"]), features), "name": "gbtree"},
            "learner_model_param": _plain(parameters),
            "objective": _objective(learner["objective"]),
        },
        "version": [whole(part, 0, 1000) for part in _list(_object(document)["version"], 3)],
    }


def _model(model: Mapping[str, Any], features: int) -> dict[str, Any]:
    trees, parameters = [_object(tree) for tree in _list(model["trees"])], _object(model["gbtree_model_param"])
    if parameters["num_trees"] != str(len(trees)) or not 0 < len(trees) <= MOST_TREES:
        raise ValueError(f"it has {len(trees)} trees and says {shown(parameters['num_trees'])}")
    if any(_list(model["tree_info"], len(trees))):
        raise ValueError("its trees are of several classes")
    checked = {
        "gbtree_model_param": _plain(parameters),
        "trees": _trees(trees, features),
        "tree_info": [0] * len(trees),
    }
    if "iteration_indptr" in model:
        checked["iteration_indptr"] = _rounds(model["iteration_indptr"], len(trees))
    if "cats" in model:
        checked["cats"] = _no_categories(model["cats"])
    return checked


def _no_categories(categories: Any) -> dict[str, list[Any]]:
    if _object(categories) != {"enc": [], "feature_segments": [], "sorted_idx": []}:
        raise ValueError("its trees split by categories")
    return dict(categories)


def _trees(trees: Sequence[Mapping[str, Any]], features: int) -> list[Encoded]:
    """Return the trees as XGBoost reads them, each list of nodes checked."""
    sizes = [len(_list(tree["left_children"])) for tree in trees]
    if min(sizes) < 1:
        raise NotTrees("a tree has no nodes")
    nodes = {name: _concatenated(trees, name, sizes, dtype) for name, dtype in _NODES.items()}
    left, right = nodes["left_children"].astype(np.int64), nodes["right_children"].astype(np.int64)
    column, inner = nodes["split_indices"].astype(np.int64), left != LEAF
    deleted = column == _NOWHERE
    parents, _ = check_trees(sizes, left, right, deleted)
    check_splits(features, column, ~deleted)
    # XGBoost follows parents too. Deleted nodes keep theirs.
    expected = np.where(deleted, nodes["parents"], np.where(parents < 0, _NOWHERE, parents))
    if (nodes["parents"] != expected).any() or (expected[deleted] >= np.repeat(sizes, sizes)[deleted]).any():
        raise NotTrees("the parent of a node is another than the node whose child it is")
    if nodes["split_type"].any() or nodes["default_left"].max(initial=0) > 1:
        raise NotTrees("a node splits by something else than a threshold")
    if (np.abs(nodes["split_conditions"][~inner]) > LARGEST).any():
        raise NotTrees(f"a leaf is not from -{LARGEST:g} to {LARGEST:g} W")
    if any(tree[name] for tree in trees for name in _CATEGORIES if name in tree):
        raise NotTrees("its trees split by categories")
    counts = np.add.reduceat(deleted, np.cumsum([0, *sizes[:-1]]), dtype=np.int64).tolist()
    columns = {name: split(values, sizes) for name, values in nodes.items()}
    columns |= {name: [Encoded(encode(np.empty(0, dtype)))] * len(trees) for name, dtype in _CATEGORIES.items()}
    columns["id"] = [Encoded(encode(number)) for number in range(len(trees))]
    columns["tree_param"] = [
        _tree_parameters(tree["tree_param"], features, size, count)
        for tree, size, count in zip(trees, sizes, counts, strict=True)
    ]
    return objects(columns)


def _concatenated(
    trees: Sequence[Mapping[str, Any]], name: str, sizes: Sequence[int], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """Return a number of every node; refuse what is not one, or not one of that type."""
    lists = [tree[name] for tree in trees]
    if any(type(values) is not list for values in lists) or [len(values) for values in lists] != list(sizes):
        raise NotTrees("its lists of nodes differ in length")
    try:  # numpy would cut 1.5 to 1, and turn texts into numbers
        numbers = np.frombuffer(array(np.dtype(dtype).char, list(itertools.chain.from_iterable(lists))), dtype)
    except (TypeError, OverflowError):
        raise NotTrees(f"{name} are something else than numbers of nodes") from None
    if not np.isfinite(numbers).all():
        raise NotTrees(f"{name} are beyond float32")
    return numbers


def _tree_parameters(parameters: Any, features: int, size: int, deleted: int) -> Encoded:
    expected, encoded = _expected_parameters(features, size, deleted)
    if parameters != expected:
        raise NotTrees("a tree says something else of itself")
    return encoded


@lru_cache(1000)
def _expected_parameters(features: int, size: int, deleted: int) -> tuple[dict[str, str], Encoded]:
    numbers = {"num_deleted": deleted, "num_feature": features, "num_nodes": size, "size_leaf_vector": 1}
    parameters = {name: str(number) for name, number in numbers.items()}
    return parameters, Encoded(encode(parameters))


def _rounds(ends: Any, trees: int) -> list[int]:
    """Return the number of trees before each round of boosting, and that of all of them."""
    numbers = [whole(end, 0, trees) for end in _list(ends)]
    if numbers != sorted(numbers) or numbers[:1] != [0] or numbers[-1] != trees:
        raise ValueError("its rounds are not those of its trees")
    return numbers


def _objective(objective: Any) -> dict[str, Any]:
    """Return the objective with its parameters, all of them numbers."""
    name, *others = sorted(_object(objective), key=lambda key: key != "name")
    if name != "name" or objective["name"] not in _OBJECTIVES:
        raise ValueError(f"{shown(_object(objective).get('name'))} is no objective of power")
    return {key: _plain(objective[key]) for key in others} | {"name": objective["name"]}


def _plain(parameters: Any) -> dict[str, str]:
    """Return parameters of XGBoost: texts that are numbers."""
    for name, value in _object(parameters).items():
        if problem := name_problem(name):
            raise ValueError(problem)
        _number_in(value)
    return dict(parameters)


def _attributes(attributes: Any) -> dict[str, str]:
    """Return texts that users have added by name."""
    for text in itertools.chain.from_iterable(_object(attributes).items()):
        if problem := name_problem(text, longest=1000):
            raise ValueError(problem)
    if len(attributes) > _MOST_ATTRIBUTES:
        raise ValueError(f"it has more than {_MOST_ATTRIBUTES} attributes")
    return dict(attributes)


def _feature_names(names: Any, features: int) -> list[str]:
    for name in _list(names, *([features] if names else [])):
        if problem := name_problem(name):
            raise ValueError(problem)
    return list(names)


def _feature_types(types: Any, features: int) -> list[str]:
    if set(_list(types, *([features] if types else []))) - {"float", "int", "q", "i"}:
        raise ValueError("a feature is something else than a number")
    return list(types)


def _number_in(text: Any) -> float:
    match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if match is None or not abs(float(match[1])) <= LARGEST:
        raise ValueError(f"{shown(text)} is not a number up to {LARGEST:g}")
    return float(match[1])


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise ValueError(f"{shown(value)} is in the place of an object")
    return value


def _list(value: Any, count: int | None = None) -> list[Any]:
    if type(value) is not list or (count is not None and len(value) != count):
        raise ValueError(f"{shown(value)} is in the place of a list{'' if count is None else f' of {count}'}")
    return value
