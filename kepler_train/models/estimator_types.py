"""The estimators of scikit-learn that are read: made anew from numbers that were checked, each in its own way.

scikit-learn trusts its objects: compiled code follows the children of a tree, or the rows of an index, wherever they
point. So no object of a file is used. Its parameters and arrays are, and what can be computed from them is left out:
the index of nearest rows is built again from the rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from kepler_train.models.estimator_numbers import (
    Attributes,
    NotRead,
    fill_features,
    fill_linear,
    fill_log_linear,
    fill_max_abs,
    fill_min_max,
    fill_neighbors,
    fill_polynomial,
    fill_robust,
    fill_standard,
    fill_support_vectors,
    fill_tree,
    is_plain,
)
from kepler_train.models.numbers import whole
from kepler_train.models.skops_file import Part
from kepler_train.models.tree_structure import MOST_NODES
from kepler_train.strict_json import name_problem, shown

_MOST_STEPS, _MOST_PIPELINES = 20, 2  # of a pipeline, and inside each other
_MOST_ESTIMATORS = 5000  # of a forest
_TREES = ("DecisionTreeRegressor", "ExtraTreeRegressor")
PIPELINE = "Pipeline"
# Threads and messages are no business of a file.
_OURS = {"n_jobs": None, "verbose": 0}


class Made(NamedTuple):
    """An estimator, and the number of columns that it returns: one of a regressor."""

    estimator: Any
    columns: int


class EstimatorType(NamedTuple):
    """Where scikit-learn has a class, what fills an estimator of it, and which parameters its predictions need."""

    module: str
    fill: Callable[[Any, Attributes, int], int]
    needs: tuple[str, ...] = ()


def make_estimator(part: Part, features: int) -> Any:
    """Return the regressor of a part, or the pipeline that ends in one."""
    made = _made(part, features)
    if not hasattr(made.estimator, "predict"):
        raise NotRead(f"{part.type_name} predicts nothing")
    return made.estimator


def unknown_types(estimator: Any) -> set[str]:
    """Return the names of the types of an estimator that are not read."""
    kind = type(estimator)
    if class_name(f"{kind.__module__}.{kind.__qualname__}") is None:
        return {f"{kind.__module__}.{kind.__qualname__}"}
    if hasattr(estimator, "steps"):
        return {name for _, step in estimator.steps for name in unknown_types(step)}
    return set()


def without_index(estimator: Any) -> Any:
    """Return an estimator whose nearest rows are searched one by one: an index is not stored, but built again."""
    if hasattr(estimator, "steps"):
        pipeline = copy.copy(estimator)
        pipeline.steps = [(name, without_index(step)) for name, step in estimator.steps]
        return pipeline
    if type(estimator).__name__ != "KNeighborsRegressor":
        return estimator
    neighbors = copy.copy(estimator)
    neighbors._tree, neighbors._fit_method = None, "brute"
    return neighbors


def class_name(type_name: str) -> str | None:
    """Return the class of scikit-learn that a type is, if it is one that is read."""
    package, _, name = type_name.rpartition(".")
    return name if package.split(".")[0] == "sklearn" and (name in TYPES or name == PIPELINE) else None


def _made(part: Any, features: int, pipelines: int = 0) -> Made:
    name = class_name(part.type_name) if isinstance(part, Part) else None
    if name is None:
        raise NotRead(f"it holds {_type_of(part)}, which is not trusted: it is not read")
    attributes = part.attributes()
    if name == PIPELINE:
        return _pipeline(attributes, features, pipelines + 1)
    known = TYPES[name]
    kind = getattr(import_module(known.module), name)
    estimator = kind(**_parameters(kind, attributes, known.needs))
    estimator._validate_params()
    return Made(estimator, known.fill(estimator, attributes, features))


def _parameters(kind: Any, attributes: Attributes, needs: tuple[str, ...]) -> Attributes:
    """Return the plain parameters; one that is an object is left at its default unless predictions need it."""
    given = {name: attributes[name] for name in kind._get_param_names() if name in attributes}
    for name in needs:
        if name in given and not is_plain(given[name]):
            raise NotRead(f"its {name} is {_type_of(given[name])}, which is not trusted: it is not read")
    plain = {name: value for name, value in given.items() if is_plain(value)}
    return plain | {name: value for name, value in _OURS.items() if plain.get(name)}


def _type_of(value: Any) -> str:
    """Return the name of a type as it can stand in a sentence."""
    name = value.type_name if isinstance(value, Part) else type(value).__name__
    return name if name_problem(name) is None else shown(name)


def _pipeline(attributes: Attributes, features: int, pipelines: int) -> Made:
    from sklearn.pipeline import Pipeline

    steps = attributes.get("steps")
    if pipelines > _MOST_PIPELINES:
        raise NotRead(f"more than {_MOST_PIPELINES} pipelines are inside each other")
    if not isinstance(steps, list) or not 0 < len(steps) <= _MOST_STEPS:
        raise NotRead(f"it has not 1 to {_MOST_STEPS} steps")
    made, columns = [], features
    for step in steps:
        name, part = step if isinstance(step, tuple) and len(step) == 2 else (None, None)
        if problem := name_problem(name):
            raise NotRead(problem)
        estimator, columns = _made(part, columns, pipelines)
        made.append((name, estimator))
    if any(not hasattr(step, "transform") for _, step in made[:-1]):
        raise NotRead("a step before the last one transforms nothing")
    return Made(Pipeline(made), columns)


def _fill_forest(forest: Any, attributes: Attributes, features: int) -> int:
    fill_features(forest, attributes, features)
    forest.n_outputs_ = whole(attributes.get("n_outputs_"), 1, 1)
    trees = attributes.get("estimators_")
    if not isinstance(trees, list) or not 0 < len(trees) <= _MOST_ESTIMATORS:
        raise NotRead(f"it has not 1 to {_MOST_ESTIMATORS} trees")
    forest.estimators_, nodes = [], 0
    for tree in trees:
        if not isinstance(tree, Part) or class_name(tree.type_name) not in _TREES:
            raise NotRead(f"it is made of {_type_of(tree)} instead of trees")
        forest.estimators_.append(_made(tree, features).estimator)
        nodes += forest.estimators_[-1].tree_.node_count
        if nodes > MOST_NODES:  # also of the same nodes, which take memory in each tree
            raise NotRead(f"its trees have more than {MOST_NODES:,} nodes")
    forest.n_estimators = len(forest.estimators_)
    return 1


_LINEAR = """
    ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV Lasso LassoCV LassoLars LassoLarsCV
    LassoLarsIC LinearRegression OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV PassiveAggressiveRegressor
    QuantileRegressor Ridge RidgeCV SGDRegressor TheilSenRegressor
"""
# By the name of the class.
TYPES: dict[str, EstimatorType] = {
    **{name: EstimatorType("sklearn.linear_model", fill_linear) for name in _LINEAR.split()},
    "ExtraTreeRegressor": EstimatorType("sklearn.tree", fill_tree),
    "DecisionTreeRegressor": EstimatorType("sklearn.tree", fill_tree),
    "ExtraTreesRegressor": EstimatorType("sklearn.ensemble", _fill_forest),
    "GammaRegressor": EstimatorType("sklearn.linear_model", fill_log_linear),
    "KNeighborsRegressor": EstimatorType(
        "sklearn.neighbors",
        fill_neighbors,
        ("n_neighbors", "weights", "algorithm", "leaf_size", "p", "metric", "metric_params"),
    ),
    "LinearSVR": EstimatorType("sklearn.svm", fill_linear),
    "MaxAbsScaler": EstimatorType("sklearn.preprocessing", fill_max_abs, ("clip",)),
    "MinMaxScaler": EstimatorType("sklearn.preprocessing", fill_min_max, ("feature_range", "clip")),
    "NuSVR": EstimatorType("sklearn.svm", fill_support_vectors, ("kernel", "degree", "coef0")),
    "PoissonRegressor": EstimatorType("sklearn.linear_model", fill_log_linear),
    "PolynomialFeatures": EstimatorType(
        "sklearn.preprocessing", fill_polynomial, ("degree", "interaction_only", "include_bias", "order")
    ),
    "RandomForestRegressor": EstimatorType("sklearn.ensemble", _fill_forest),
    "RobustScaler": EstimatorType("sklearn.preprocessing", fill_robust, ("with_centering", "with_scaling")),
    "StandardScaler": EstimatorType("sklearn.preprocessing", fill_standard, ("with_mean", "with_std")),
    "SVR": EstimatorType("sklearn.svm", fill_support_vectors, ("kernel", "degree", "coef0")),
}
