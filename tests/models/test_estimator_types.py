"""Estimators of scikit-learn are made anew from checked numbers; crafted arrays never reach compiled code."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from kepler_train.errors import UserError
from kepler_train.models import EstimatorModel, estimator_types
from kepler_train.models.estimator_types import TYPES
from kepler_train.models.skops_file import read_parts

CHANCE = np.random.default_rng(0)
X = CHANCE.uniform(0, [1.0, 10.0], (80, 2))
Y = 5 + 3 * X[:, 0] + np.abs(X[:, 1] - 4) + CHANCE.normal(0, 0.1, 80)
# Arrays of a file by their names, to change.
Arrays = dict[str, Any]


def read(content: bytes, features: int = 2) -> EstimatorModel:
    return EstimatorModel.read(content, "it", features)


def content_of(estimator: Any) -> bytes:
    return EstimatorModel(estimator.fit(X, Y)).content()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_type_of_the_list_predicts_what_it_did_to_the_last_bit(name: str) -> None:
    estimator = getattr(import_module(TYPES[name].module), name)()
    if not hasattr(estimator, "predict"):
        estimator = make_pipeline(estimator, LinearRegression())
    model = EstimatorModel(estimator.fit(X, Y))
    again = read(model.content())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(read(again.content()).predict(X), model.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsRegressor(3, weights="distance", algorithm="ball_tree", metric="manhattan"),
        KNeighborsRegressor(np.int64(3), algorithm="brute", n_jobs=2),
        make_pipeline(MaxAbsScaler(), SVR(C=5.0)),
        make_pipeline(StandardScaler(with_mean=False), SVR(kernel="linear")),
        make_pipeline(MinMaxScaler(clip=True), SVR(kernel="poly", degree=2, coef0=1.0)),
        make_pipeline(RobustScaler(), SVR(kernel="sigmoid", gamma=0.1)),
        SVR(epsilon=100.0),  # no support vector at all
        make_pipeline(StandardScaler(), PolynomialFeatures((1, 3), interaction_only=True), Ridge(positive=True)),
        make_pipeline(make_pipeline(MaxAbsScaler(), PolynomialFeatures(3)), LinearRegression(fit_intercept=False)),
        RandomForestRegressor(5, max_leaf_nodes=7, n_jobs=2, verbose=0, random_state=np.random.RandomState(0)),
        make_pipeline(MaxAbsScaler(), RandomForestRegressor(3, max_depth=4, random_state=0)),
        DecisionTreeRegressor(ccp_alpha=0.01),
        DecisionTreeRegressor(max_depth=1),
    ],
    ids=lambda estimator: str(estimator).replace("\n", "")[:60],
)
def test_parameters_that_predictions_depend_on_are_kept(estimator: Any) -> None:
    model = EstimatorModel(estimator.fit(X, Y))
    again = read(model.content())
    # Two threads add the trees of a forest in the order in which they end.
    np.testing.assert_allclose(again.predict(X * 1.5), model.predict(X * 1.5), rtol=1e-14)
    steps = [again.estimator, *(step for _, step in getattr(again.estimator, "steps", []))]
    assert all(getattr(step, "n_jobs", None) is None for step in steps)  # threads are no business of a file


def test_an_index_of_rows_is_not_stored_and_is_built_again() -> None:
    model = EstimatorModel(KNeighborsRegressor(4, algorithm="kd_tree").fit(X, Y))
    content = model.content()
    assert b"KDTree" not in content
    assert type(model.estimator._tree).__name__ == type(read(content).estimator._tree).__name__ == "KDTree"
    theirs = skops.io.loads(content)  # others read it too
    np.testing.assert_allclose(theirs.predict(X), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (GradientBoostingRegressor(n_estimators=2), "sklearn.ensemble._gb.GradientBoostingRegressor"),
        (make_pipeline(FunctionTransformer(), LinearRegression()), r"sklearn\.\S+\.FunctionTransformer"),
        (make_pipeline("passthrough", LinearRegression()), "builtins.str"),
        (type("Mine", (LinearRegression,), {"__module__": "mine"})(), "mine.Mine"),
    ],
)
def test_another_type_is_refused_by_name_when_saved_and_when_loaded(estimator: Any, name: str) -> None:
    with pytest.raises(UserError, match=f"{name} cannot be saved: docs/trainers.md names the types that can"):
        content_of(estimator)
    if name != "mine.Mine":  # which skops cannot find
        with pytest.raises(UserError, match=f"it holds ({name}|str), which is not trusted: it is not read"):
            read(skops.io.dumps(estimator))


def with_changes(content: bytes, change: Callable[[Any, Arrays], None]) -> bytes:
    """Return a file whose list and arrays were changed."""
    with ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(files.pop("schema.json"))
    arrays = {name: np.load(io.BytesIO(file)) for name, file in files.items()}
    change(schema, arrays)
    out = io.BytesIO()
    with ZipFile(out, "w") as target:
        for name, array in arrays.items():
            file = io.BytesIO()
            np.save(file, array) if isinstance(array, np.ndarray) else file.write(array)
            target.writestr(name, file.getvalue())
        target.writestr("schema.json", json.dumps(schema))
    return out.getvalue()


def attribute(schema: Any, name: str) -> Any:
    """Return the first entry of that name."""
    if isinstance(schema, dict):
        if name in schema and isinstance(schema[name], dict):
            return schema[name]
        schema = list(schema.values())
    for child in schema if isinstance(schema, list) else []:
        if (entry := attribute(child, name)) is not None:
            return entry
    return None


def array(name: str, change: Callable[[Any], Any]) -> Callable[[Any, Arrays], None]:
    def apply(schema: Any, arrays: Arrays) -> None:
        file = attribute(schema, name)["file"]
        arrays[file] = change(arrays[file])

    return apply


def scalar(name: str, value: Any) -> Callable[[Any, Arrays], None]:
    return lambda schema, _: attribute(schema, name).update(
        {"__loader__": "JsonNode", "content": value if isinstance(value, str) else json.dumps(value)}
    )


def node(field: str, place: int, value: float) -> Callable[[Any, Arrays], None]:
    def change(nodes: Any) -> Any:
        nodes[field][place] = value
        return nodes

    return array("nodes", change)


NEIGHBORS, SUPPORT = content_of(KNeighborsRegressor()), content_of(SVR())
FOREST = content_of(RandomForestRegressor(2, random_state=0))
POLYNOMIAL = content_of(make_pipeline(PolynomialFeatures(2), LinearRegression()))
SCALED = content_of(make_pipeline(MaxAbsScaler(), LinearRegression()))


@pytest.mark.parametrize(
    ("content", "change", "words"),
    [
        (NEIGHBORS, array("_fit_X", lambda rows: rows[:, :1]), "an array of 80 × 2 numbers is something else"),
        (NEIGHBORS, array("_fit_X", lambda rows: rows * np.nan), "a number is not from -1e"),
        (NEIGHBORS, array("_fit_X", lambda rows: rows.astype("S8")), "which are no numbers"),
        (NEIGHBORS, array("_fit_X", lambda rows: rows.astype(">f8")), "which are no numbers"),
        (NEIGHBORS, array("_fit_X", lambda rows: rows[:3]), "an array of 3 numbers is something else"),
        (NEIGHBORS, array("_y", lambda power: power[:-1]), "an array of 80 numbers is something else"),
        (NEIGHBORS, array("_y", lambda power: power[:, None]), "an array of 80 numbers is something else"),
        (NEIGHBORS, scalar("n_neighbors", 81), "81 is not a whole number from 1 to 80"),
        (NEIGHBORS, scalar("n_neighbors", -1), "n_neighbors"),
        (NEIGHBORS, scalar("metric", "precomputed"), "cut short|Expecting"),
        (NEIGHBORS, scalar("metric", '"precomputed"'), "in a way that is not read"),
        (NEIGHBORS, scalar("p", 1e300), "is not a number from 1 to 100"),
        (NEIGHBORS, scalar("leaf_size", 0), "leaf_size"),
        (SUPPORT, array("support_vectors_", lambda rows: rows[:, :1]), "2 numbers is something else"),
        (SUPPORT, array("support_vectors_", lambda rows: rows[:-1]), "numbers is something else"),
        (SUPPORT, array("_dual_coef_", lambda weights: weights[0]), "numbers is something else"),
        (SUPPORT, array("_dual_coef_", lambda weights: weights * 1e40), "a number is not from"),
        (SUPPORT, array("support_", lambda rows: rows[:-1]), "numbers is something else"),
        (SUPPORT, array("intercept_", lambda numbers: numbers[:0]), "numbers is something else"),
        (SUPPORT, array("_gamma", lambda _: np.array(np.inf)), "is not a number from 0"),
        (SUPPORT, scalar("kernel", '"precomputed"'), "the kernel 'precomputed' is not read"),
        (SUPPORT, scalar("degree", 10**9), "is not a whole number from 0 to 20"),
        (FOREST, node("left_child", 0, 0), "a child is not among the nodes after its parent"),
        (FOREST, node("left_child", 0, 10**9), "a child is not among the nodes after its parent"),
        (FOREST, node("right_child", 0, -2), "a child is not among the nodes after its parent"),
        (FOREST, node("right_child", 0, 1), "a node is not the child of exactly one other"),
        (FOREST, node("feature", 0, 2), "a node reads another column than the 2 there are"),
        (FOREST, node("feature", 0, -2), "a node reads another column than the 2 there are"),
        (FOREST, node("threshold", 0, np.nan), "a number is not from"),
        (FOREST, array("nodes", lambda nodes: nodes[:-1]), "a child is not among|not the child|something else"),
        (FOREST, array("nodes", lambda nodes: nodes["feature"]), "the nodes of a tree are something else"),
        (FOREST, array("values", lambda values: values[:-1]), "1 numbers is something else"),
        (FOREST, array("values", lambda values: values * np.inf), "a number is not from"),
        (FOREST, scalar("n_outputs_", 2), "2 is not a whole number from 1 to 1"),
        (FOREST, scalar("estimators_", []), "it has not 1 to 5000 trees"),
        (POLYNOMIAL, scalar("degree", 3), "an array of 10 numbers is something else|it has 6 features"),
        (POLYNOMIAL, scalar("degree", 10**6), "is not a whole number from 1 to 20"),
        (POLYNOMIAL, array("coef_", lambda weights: weights[1:]), "an array of 6 numbers is something else"),
        (SCALED, array("scale_", lambda scale: scale * 0), "a number is not from 1e-30"),
        (SCALED, array("intercept_", lambda _: np.array(np.nan)), "NaN is not a number|is not a number from"),
        (SCALED, array("scale_", lambda _: b"\x93NUMPY\x01\x00"), "an array cannot be read"),
    ],
)
def test_what_compiled_code_would_trip_over_is_refused(
    content: bytes, change: Callable[[Any, Arrays], None], words: str
) -> None:
    with pytest.raises(UserError, match=f"it is not an estimator of 2 features: .*({words})"):
        read(with_changes(content, change))


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 2), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': [('a', '<f8', (2,))], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 150 + ")" * 150 + ", }",
        "{'descr': " + "-" * 9000 + "1, 'fortran_order': False, 'shape': (2,), }",
        "{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,), }",
        "",
    ],
    ids=lambda header: header[:30],
)
def test_a_made_up_header_of_an_array_is_refused(header: str) -> None:
    file = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(16)
    with pytest.raises(UserError, match="it is not an estimator of 2 features: an array "):
        read(with_changes(SCALED, array("scale_", lambda _: file)))


def test_the_same_bytes_as_many_files_are_refused() -> None:
    with ZipFile(io.BytesIO(SCALED)) as archive:
        entries, directory = archive.infolist(), archive.start_dir
    large = max(entries, key=lambda entry: entry.file_size)
    out = io.BytesIO(SCALED[:directory])
    with ZipFile(out, "w") as target:  # a directory of a thousand names for one file
        out.seek(directory)
        for number in range(1000):
            large.filename = f"{number}.npy"
            target.filelist.append(large.__class__(large.filename))
            for slot in ("file_size", "compress_size", "CRC", "header_offset", "compress_type", "flag_bits"):
                setattr(target.filelist[-1], slot, getattr(large, slot))
        target.start_dir, target._didModify = directory, True
    with pytest.raises(UserError, match="its files are larger than itself"):
        read(out.getvalue())


def test_an_array_that_many_objects_have_is_read_once() -> None:
    def share(schema: Any, _: Arrays) -> None:
        attribute(schema, "_y").update(attribute(schema, "_fit_X"))

    attributes = read_parts(with_changes(NEIGHBORS, share)).attributes()
    assert attributes["_y"] is attributes["_fit_X"]


def test_trees_are_bounded_together_however_few_arrays_they_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def repeat(schema: Any, _: Arrays) -> None:
        entry = attribute(schema, "estimators_")
        entry["content"] = entry["content"][:1] * 50

    nodes = read(FOREST).estimator.estimators_[0].tree_.node_count
    assert len(read(with_changes(FOREST, repeat)).estimator.estimators_) == 50
    monkeypatch.setattr(estimator_types, "MOST_NODES", 50 * nodes - 1)
    with pytest.raises(UserError, match="its trees have more than"):
        read(with_changes(FOREST, repeat))


def test_a_forest_of_something_else_is_refused_unmade() -> None:
    other: list[Any] = []

    def exchange(schema: Any, _: Arrays) -> None:
        attribute(schema, "estimators_")["content"] = [other.pop()]

    with_changes(NEIGHBORS, lambda schema, _: other.append(schema))
    with pytest.raises(UserError, match=r"it is made of sklearn\.\S+\.KNeighborsRegressor instead of trees"):
        read(with_changes(FOREST, exchange))


def test_pipelines_inside_pipelines_have_an_end() -> None:
    estimator: Any = LinearRegression()
    for _ in range(2):
        estimator = make_pipeline(estimator)
    assert read(content_of(estimator)).predict(X).shape == (80,)
    with pytest.raises(UserError, match="more than 2 pipelines are inside each other"):
        read(content_of(make_pipeline(estimator)))


def test_reading_runs_nothing_and_needs_no_skops(tmp_path: Path) -> None:
    (tmp_path / "package.skops").write_bytes(FOREST)
    code = """
import sys
from pathlib import Path
sys.modules["skops"] = None
from kepler_train.models import EstimatorModel
EstimatorModel.load(Path("package.skops"), 2)
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.sampled_from([NEIGHBORS, SUPPORT, FOREST, POLYNOMIAL, SCALED]),
    place=st.integers(0, 10**6),
    byte=st.integers(0, 255),
)
def test_a_changed_byte_is_refused_in_a_sentence_or_leaves_an_estimator(content: bytes, place: int, byte: int) -> None:
    spoilt = bytearray(content)
    spoilt[place % len(spoilt)] = byte
    try:
        model = read(bytes(spoilt))
    except UserError:
        return
    assert model.predict(X).shape == (80,)
