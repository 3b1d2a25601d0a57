"""One small model of every trainer, the same every time: what files of models are made from."""

from __future__ import annotations

import os
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from labelled_rows import SOURCE, labelled_rows, train_rows

from kepler_train.catalog import catalog
from kepler_train.model_key import ModelKey
from kepler_train.spec import RunSpec
from kepler_train.train.trainer import house_trainers

_BOOSTING = {"n_estimators": 3, "max_depth": 2, "max_bin": 16, "max_trees": 10}
_FOREST = {"n_estimators": 2, "draft": 2, "least_gain": 0.02}
_SMALL = {
    "SGDRegressorTrainer": {"batch": 32, "epochs": 2, "steps": 50},
    "KNeighborsRegressorTrainer": {"n_neighbors": 3, "max_rows": 20},
    "SVRRegressorTrainer": {"max_rows": 20},
    "GradientBoostingRegressorTrainer": _BOOSTING,
    "XgboostFitTrainer": _BOOSTING | {"min_child_weight": 2},
    "MonotoneBoostingTrainer": _BOOSTING | {"min_child_weight": 2},
    "PiecewiseLinearTrainer": {"pieces": 2, "max_rows": 40},
    "ExtraTreesTrainer": _FOREST,
    "TrendForestTrainer": _FOREST,
    "ResidualForestTrainer": _FOREST,
    "LaggedForestTrainer": _FOREST,
    "auto": {"folds": 2, "best": 5, "aside": 1, "rows_to_choose_by": 40},
}


def train_each(seeds: Path) -> dict[str, Path]:
    """Train a model of AbsPower by every trainer, once for all kinds; return their folders by trainer."""
    folder = seeds.parent / "trained"
    if not folder.exists():
        folder.mkdir()
        _train_all(folder)
    return {model.parent.name: model for model in sorted(folder.glob("*/model"))}


def _train_all(folder: Path) -> None:
    text = [f"[trainers.{name}.settings]\n" + _lines(name, own) for name, own in _SMALL.items()]
    (folder / "catalog.toml").write_text("\n".join(text))
    catalog.cache_clear()
    with patch.dict(os.environ, KEPLER_TRAIN_CATALOG=str(folder / "catalog.toml")), redirect_stdout(StringIO()):
        for name in house_trainers():
            _train(folder / name, name)
    catalog.cache_clear()


def _lines(trainer: str, own: dict[str, float]) -> str:
    catalog.cache_clear()
    return "\n".join(f"{name} = {value}" for name, value in (catalog().trainer(trainer).settings | own).items())


def _train(out: Path, trainer: str) -> None:
    out.mkdir()
    spec = RunSpec(abs_trainers=[trainer], folds=2)
    train_rows(labelled_rows(count=60), spec, ModelKey(SOURCE, "AbsPower", "BPFOnly", trainer), out)
