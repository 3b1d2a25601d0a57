"""Models together with the columns they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from kepler_train.models.component import ComponentModel, Matrix, Watts


@dataclass(frozen=True)
class SubsetModel:
    """A model of a subset of the columns of `X`."""

    columns: tuple[int, ...]
    model: ComponentModel

    @classmethod
    def of(cls, model: ComponentModel | SubsetModel, features: int) -> Self:
        """Return the model with its columns: all of the `features` where it names none itself."""
        if isinstance(model, SubsetModel):
            return cls(model.columns, model.model)
        return cls(tuple(range(features)), model)

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        return self.model.predict(X[:, self.columns])


@dataclass(frozen=True)
class Fitted:
    """A model and the names of the features it reads."""

    features: list[str]
    model: ComponentModel

    @classmethod
    def select(cls, features: list[str], model: ComponentModel | SubsetModel) -> Self:
        """Return a model that was fitted to `features` with the names of those it reads."""
        subset = SubsetModel.of(model, len(features))
        return cls([features[column] for column in subset.columns], subset.model)
