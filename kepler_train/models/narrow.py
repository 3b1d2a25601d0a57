"""Models and the columns that they look at."""

from __future__ import annotations

from dataclasses import dataclass

from kepler_train.models.component import ComponentModel, Matrix, Watts


@dataclass(frozen=True)
class NarrowModel:
    """A model that looks at some of the columns it was offered."""

    columns: tuple[int, ...]
    model: ComponentModel

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row."""
        return self.model.predict(X[:, self.columns])


@dataclass(frozen=True)
class Fitted:
    """A model and the names of its columns."""

    features: list[str]
    model: ComponentModel

    @classmethod
    def on(cls, features: list[str], model: ComponentModel | NarrowModel) -> Fitted:
        """A model that was fitted on these features, with those that it looks at."""
        if isinstance(model, NarrowModel):
            return cls([features[column] for column in model.columns], model.model)
        return cls(features, model)
