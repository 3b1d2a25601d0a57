"""Sum of terms that rise with load: power = bias + Σ weight · piece, or weight · piece · piece, in W.

A piece is ((min(max(x, low), high) − low) / scale) ^ power of one feature x (1/s). With bias, weights and powers ≥ 0
the sum is never below 0 W and never falls when a feature rises; a finite `high` says how far it follows a feature.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from kepler_train.errors import UserError
from kepler_train.models import graphs
from kepler_train.models.component import Matrix, ModelClass, Watts
from kepler_train.models.files import read_json, write_json

if TYPE_CHECKING:
    from onnx import ModelProto


class Piece(NamedTuple):
    """What a term reads of one feature: nothing below `low`, as much as at `high` above it."""

    column: int
    low: float
    high: float
    scale: float
    power: float = 1.0


@dataclass(frozen=True)
class TermsModel:
    """Bias (W), pieces, and the weight (W) of each term: a tuple of the numbers of its one or two pieces."""

    bias: float
    pieces: list[Piece]
    terms: list[tuple[int, ...]]
    weight: Watts

    kind: ClassVar[str] = "terms"
    suffix: ClassVar[str] = ".json"
    model_class: ClassVar[ModelClass] = "kepler-train"

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row."""
        return self.bias + products(values(self.pieces, X), self.terms) @ self.weight

    def needed(self) -> TermsModel:
        """The same model without terms of no weight, and without pieces that no term reads."""
        terms = [term for term, weight in zip(self.terms, self.weight, strict=True) if weight > 0]
        read = sorted({number for term in terms for number in term})
        place = {number: at for at, number in enumerate(read)}
        return TermsModel(
            self.bias,
            [self.pieces[number] for number in read],
            [tuple(place[number] for number in term) for term in terms],
            self.weight[self.weight > 0],
        )

    def save(self, file: Path) -> None:
        """Write bias, pieces, terms and weights as JSON."""
        write_json(file, asdict(self) | {"weight": self.weight.tolist()})

    @classmethod
    def load(cls, file: Path, features: int) -> TermsModel:
        """Read what `save` wrote for so many features."""
        content = read_json(file)
        try:
            pieces = [Piece(int(piece[0]), *map(float, piece[1:])) for piece in content["pieces"]]
            terms = [tuple(int(number) for number in term) for term in content["terms"]]
            model = cls(float(content["bias"]), pieces, terms, np.array(content["weight"], dtype=np.float64))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UserError(f"{file} is not a sum of terms: {error}.") from None
        if not model._sound(features):
            raise UserError(f"{file} is not a sum of terms over {features} features.")
        return model

    def weights(self, features: list[str]) -> None:
        """Kepler has no such model."""

    def graph(self, features: int) -> ModelProto:
        """The same formula, with every piece a column."""
        from onnx import helper

        if not self.terms:  # a constant still has a row for each row of X
            return TermsModel(self.bias, [Piece(0, 0.0, 0.0, 1.0)], [(0,)], np.zeros(1)).graph(features)
        column, low, high, scale, power = (np.array(part) for part in zip(*self.pieces, strict=True))
        # A term of one piece has 1 as its second factor: a last column beside the pieces.
        second = [term[1] if len(term) == 2 else len(self.pieces) for term in self.terms]
        nodes = [
            helper.make_node("Gather", [graphs.INPUT, "column"], ["read"], axis=1),
            helper.make_node("Max", ["read", "low"], ["above"]),
            helper.make_node("Min", ["above", "high"], ["within"]),
            helper.make_node("Sub", ["within", "low"], ["from low"]),
            helper.make_node("Div", ["from low", "scale"], ["scaled"]),
            helper.make_node("Pow", ["scaled", "power of piece"], ["piece"]),
            helper.make_node("Pad", ["piece", "one more", "one"], ["padded"]),
            helper.make_node("Gather", ["piece", "first"], ["first factor"], axis=1),
            helper.make_node("Gather", ["padded", "second"], ["second factor"], axis=1),
            helper.make_node("Mul", ["first factor", "second factor"], ["term"]),
            helper.make_node("MatMul", ["term", "weight"], ["sum"]),
            helper.make_node("Add", ["sum", "bias"], [graphs.OUTPUT]),
        ]
        numbers = [
            graphs.constant("column", column, np.int64),
            graphs.constant("low", low),
            graphs.constant("high", high),
            graphs.constant("scale", scale),
            graphs.constant("power of piece", power),
            graphs.constant("one more", [0, 0, 0, 1], np.int64),
            graphs.constant("one", 1.0),
            graphs.constant("first", [term[0] for term in self.terms], np.int64),
            graphs.constant("second", second, np.int64),
            graphs.constant("weight", self.weight[:, None]),
            graphs.constant("bias", [self.bias]),
        ]
        return graphs.graph_model(nodes, numbers, features)

    def _sound(self, features: int) -> bool:
        """Whether every number is one that `predict` can use, and no prediction is below 0 W."""
        numbers = np.array([self.bias, *self.weight.ravel(), *(number for piece in self.pieces for number in piece)])
        return (
            self.weight.shape == (len(self.terms),)
            and bool(np.isfinite(numbers).all() and (numbers >= 0).all())
            and all(piece.column < features and piece.scale > 0 and piece.high >= piece.low for piece in self.pieces)
            and all(len(term) in (1, 2) and min(term) >= 0 and max(term) < len(self.pieces) for term in self.terms)
        )


def values(pieces: list[Piece], X: Matrix) -> Matrix:
    """A column for each piece."""
    if not pieces:
        return np.empty((len(X), 0))
    column, low, high, scale, power = (np.array(part) for part in zip(*pieces, strict=True))
    scaled = (np.clip(X[:, column], low, high) - low) / scale
    # A power is a logarithm for every number, so it is only taken where it is not 1.
    bent = power != 1.0
    scaled[:, bent] **= power[bent]
    return np.asarray(scaled, dtype=np.float64)


def products(columns: Matrix, terms: list[tuple[int, ...]]) -> Matrix:
    """A column for each term, from those of the pieces."""
    found = columns[:, np.array([term[0] for term in terms], dtype=np.intp)]
    pairs = np.array([at for at, term in enumerate(terms) if len(term) == 2], dtype=np.intp)
    second: npt.NDArray[np.intp] = np.array([terms[at][1] for at in pairs], dtype=np.intp)
    found[:, pairs] *= columns[:, second]
    return found
