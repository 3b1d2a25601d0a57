"""Sum of ramps: power = bias + Σ weight · ramp, or weight · ramp · ramp, in W.

A ramp is ((min(max(x, low), high) − low) / scale) ^ power of one feature x (1/s). With bias, weights and powers ≥ 0
the sum is never below 0 W and never falls when a feature rises. `high` limits how far it follows a feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel, Matrix, Vector, Watts
from kepler_train.models.files import json_bytes, read_object
from kepler_train.models.graphs import INPUT, OUTPUT, constant, graph_model, make_node
from kepler_train.models.numbers import SMALLEST_SCALE, number, vector, whole
from kepler_train.strict_json import shown

if TYPE_CHECKING:
    from onnx import ModelProto


_STEEPEST = 10.0  # power of a ramp; ours are 0.5, 1 and 2


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

    def content(self) -> bytes:
        """Return bias, ramps, terms and weights as JSON."""
        content = {"bias": self.bias, "pieces": self.ramps, "terms": self.terms, "weight": self.weight.tolist()}
        return json_bytes(content)

    @classmethod
    def read(cls, content: bytes, where: object, features: int) -> RampModel:
        """Return the model of a file's content: with no number below 0, no prediction is below 0 W."""
        entries = read_object(content, where)
        try:
            ramps = [_ramp(numbers, features) for numbers in _list(entries.get("pieces"))]
            terms = [_term(numbers, len(ramps)) for numbers in _list(entries.get("terms"))]
            weight = vector(entries.get("weight"), len(terms), least=0)
            return cls(number(entries.get("bias"), least=0), ramps, terms, weight)
        except ValueError as error:
            raise UserError(f"{where} is not a sum of terms over {features} features: {error}.") from None

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


def _ramp(numbers: Any, features: int) -> Ramp:
    column, low, high, scale, power = _list(numbers, 5)
    ramp = Ramp(
        whole(column, 0, features - 1),
        number(low, least=0),
        number(high, least=0),
        number(scale, least=SMALLEST_SCALE),
        number(power, least=0, most=_STEEPEST),
    )
    if ramp.high < ramp.low:
        raise ValueError(f"a ramp ends at {ramp.high:g}, before it begins at {ramp.low:g}")
    return ramp


def _term(numbers: Any, ramps: int) -> tuple[int, ...]:
    factors = tuple(whole(number, 0, ramps - 1) for number in _list(numbers))
    if len(factors) not in (1, 2):
        raise ValueError(f"a term has {len(factors)} ramps instead of one or two")
    return factors


def _list(value: Any, count: int | None = None) -> list[Any]:
    if type(value) is not list or (count is not None and len(value) != count):
        raise ValueError(f"{shown(value)} is not a list{'' if count is None else f' of {count}'}")
    return value


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
