"""Files of components: boosted trees, forests, nearest rows, support vectors, ensembles of them, and formulas.

The form is `<kind of model>-<number of features>`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from fuzz.case import Case
from fuzz.component_mutations import mutate_file
from fuzz.trained import train_each
from kepler_train.models import EstimatorModel
from kepler_train.models.kinds import read_component

_SUFFIX = {"estimator": ".skops"}
_COLUMNS = 2


def seeds(folder: Path) -> list[Case]:
    """Return the file of a component for every trainer."""
    cases = []
    for model in train_each(folder).values():
        details = json.loads((model / "metadata.json").read_bytes())["model_file"]
        entry = json.loads((model / details).read_bytes())["package"]
        content = (model / entry["file"]).read_bytes()
        cases.append(Case(f"{entry['kind']}-{len(entry['features'])}", content))
    return cases + [Case(f"estimator-{_COLUMNS}", content) for content in _estimators()]


def _estimators() -> Iterator[bytes]:
    """Yield files of estimators that trainers of users may hand over."""
    rows = np.arange(40.0).reshape(-1, _COLUMNS) % 7
    forest = RandomForestRegressor(2, max_depth=3, random_state=0)
    scaled = make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge())
    kernel = make_pipeline(MinMaxScaler(), SVR(kernel="poly"))
    for estimator in (forest, DecisionTreeRegressor(max_depth=3), scaled, kernel, KNeighborsRegressor(2)):
        yield EstimatorModel(estimator.fit(rows, rows.sum(axis=1))).content()


def mutate(case: Case, random: Random) -> Case:
    """Return a changed file."""
    return Case(case.form, mutate_file(_name(case.form), case.content, random))


def call(case: Case, seeds: Path, work: Path) -> None:
    """Load the component and predict."""
    kind, _, features = case.form.partition("-")
    model = read_component(kind, case.content, work / _name(case.form), int(features))
    model.predict(np.array([0.0, 1.0, 1e3, 1e9, 1e18])[:, None].repeat(int(features), axis=1))


def _name(form: str) -> str:
    return f"package{_SUFFIX.get(form.partition('-')[0], '.json')}"
