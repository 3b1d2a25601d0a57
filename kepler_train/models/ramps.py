"""Sum of ramps: power = bias + Σ weight · ramp, or weight · ramp · ramp, in W.

A ramp is ((min(max(x, low), high) − low) / scale) ^ power of one feature x (1/s). With bias, weights and powers ≥ 0
the sum is never below 0 W and never falls when a feature rises. `high` limits how far it follows a feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel, Matrix, Vector, Watts
from kepler_train.models.files import read_json, write_json
from kepler_train.models.graphs import INPUT, OUTPUT, constant, graph_model, make_node

if TYPE_CHECKING:
    from onnx import ModelProto


class Ramp(NamedTuple):
    """A function of one feature: 0 up to `low`, then rising, and constant from `high` on."""

    column: int
    low: float
    high: float
    scale: float
    power: float = 1.0


@dataclass(frozen=True)
class RampModel(ComponentModel):
    """Bias (W), ramps, and the weight (W) of each term: the numbers of the one or two ramps it multiplies."""

    bias: float
    ramps: list[Ramp]
    terms: list[tuple[int, ...]]
    weight: Vector

    kind: ClassVar[str] = "terms"

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        return self.bias + products(ramp_values(self.ramps, X), self.terms) @ self.weight

    def pruned(self) -> RampModel:
        """Return the same model without terms of weight 0 and without ramps that no term reads."""
        terms = [term for term, weight in zip(self.terms, self.weight, strict=True) if weight > 0]
        used = sorted({number for term in terms for number in term})
        renumbered = {number: place for place, number in enumerate(used)}
        return RampModel(
            self.bias,
            [self.ramps[number] for number in used],
            [tuple(renumbered[number] for number in term) for term in terms],
            self.weight[self.weight > 0],
        )

    def save(self, file: Path) -> None:
        """Write bias, ramps, terms and weights as JSON."""
        content = {"bias": self.bias, "pieces": self.ramps, "terms": self.terms, "weight": self.weight.tolist()}
        write_json(file, content)

    @classmethod
    def load(cls, file: Path, features: int) -> RampModel:
        """Return the model that `save` wrote."""
        content = read_json(file)
        try:
            ramps = [Ramp(int(numbers[0]), *map(float, numbers[1:])) for numbers in content["pieces"]]
            terms = [tuple(int(number) for number in term) for term in content["terms"]]
            model = cls(float(content["bias"]), ramps, terms, np.array(content["weight"], dtype=np.float64))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UserError(f"{file} is not a sum of terms: {error}.") from None
        if not model._is_valid(features):
            raise UserError(f"{file} is not a sum of terms over {features} features.")
        return model

    def graph(self, features: int) -> ModelProto:
        """Return the same formula, with a column per ramp."""
        if not self.terms:  # a constant still has a value for each row of X
            return RampModel(self.bias, [Ramp(0, 0.0, 0.0, 1.0)], [(0,)], np.zeros(1)).graph(features)
        column, low, high, scale, power = (np.array(values) for values in zip(*self.ramps, strict=True))
        # A term of one ramp has 1 as its second factor: a last column beside the ramps.
        second = [term[1] if len(term) == 2 else len(self.ramps) for term in self.terms]
        nodes = [
            make_node("Gather", INPUT, "column", "read", axis=1),
            make_node("Max", "read", "low", "above"),
            make_node("Min", "above", "high", "within"),
            make_node("Sub", "within", "low", "from low"),
            make_node("Div", "from low", "scale", "scaled"),
            make_node("Pow", "scaled", "power of piece", "piece"),
            make_node("Pad", "piece", "one more", "one", "padded"),
            make_node("Gather", "piece", "first", "first factor", axis=1),
            make_node("Gather", "padded", "second", "second factor", axis=1),
            make_node("Mul", "first factor", "second factor", "term"),
            make_node("MatMul", "term", "weight", "sum"),
            make_node("Add", "sum", "bias", OUTPUT),
        ]
        numbers = [
            constant("column", column, np.int64),
            constant("low", low),
            constant("high", high),
            constant("scale", scale),
            constant("power of piece", power),
            constant("one more", [0, 0, 0, 1], np.int64),
            constant("one", 1.0),
            constant("first", [term[0] for term in self.terms], np.int64),
            constant("second", second, np.int64),
            constant("weight", self.weight[:, None]),
            constant("bias", [self.bias]),
        ]
        return graph_model(nodes, numbers, features)

    def _is_valid(self, features: int) -> bool:
        """Return whether `predict` can use every number, and no prediction is below 0 W."""
        numbers = np.array([self.bias, *self.weight.ravel(), *(number for ramp in self.ramps for number in ramp)])
        return (
            self.weight.shape == (len(self.terms),)
            and bool(np.isfinite(numbers).all() and (numbers >= 0).all())
            and all(ramp.column < features and ramp.scale > 0 and ramp.high >= ramp.low for ramp in self.ramps)
            and all(len(term) in (1, 2) and min(term) >= 0 and max(term) < len(self.ramps) for term in self.terms)
        )


def ramp_values(ramps: list[Ramp], X: Matrix) -> Matrix:
    """Return a column for each ramp."""
    if not ramps:
        return np.empty((len(X), 0))
    column, low, high, scale, power = (np.array(values) for values in zip(*ramps, strict=True))
    scaled = (np.clip(X[:, column], low, high) - low) / scale
    # A power takes a logarithm per number, so it is only computed where it is not 1.
    curved = power != 1.0
    scaled[:, curved] **= power[curved]
    return np.asarray(scaled, dtype=np.float64)


def products(columns: Matrix, terms: list[tuple[int, ...]]) -> Matrix:
    """Return a column for each term, from the columns of the ramps."""
    first = columns[:, np.array([term[0] for term in terms], dtype=np.intp)]
    pairs = np.array([place for place, term in enumerate(terms) if len(term) == 2], dtype=np.intp)
    second: npt.NDArray[np.intp] = np.array([terms[place][1] for place in pairs], dtype=np.intp)
    first[:, pairs] *= columns[:, second]
    return first
