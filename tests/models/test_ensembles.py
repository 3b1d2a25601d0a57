"""Ensembles: what they predict, and what is refused of those inside their files."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from kepler_train.errors import UserError
from kepler_train.models.ensemble import MedianEnsemble, Member, SumEnsemble
from kepler_train.models.files import MOST_BYTES
from kepler_train.models.linear import LinearModel


def constant(watts: float) -> LinearModel:
    return LinearModel(watts, np.zeros(1), np.ones(1))


def test_a_member_that_runs_away_has_no_say_in_the_median() -> None:
    several = [Member((0,), constant(watts)) for watts in (10.0, 20.0, 30.0, 40.0, 1e9)]
    assert MedianEnsemble(several, 1).predict(np.zeros((2, 3))).tolist() == [30.0, 30.0]


def test_a_sum_of_models_is_never_below_zero() -> None:
    two = [Member((0,), constant(10.0)), Member((1,), constant(4.0), weight=0.5)]
    assert SumEnsemble(two, -7.0).predict(np.zeros((1, 2))).tolist() == [5.0]
    assert SumEnsemble(two, -70.0).predict(np.zeros((1, 2))).tolist() == [0.0]


def test_models_within_models_are_read_back_and_too_deep_ones_are_refused(tmp_path: Path) -> None:
    model: SumEnsemble | MedianEnsemble = SumEnsemble([Member((1,), constant(10.0))], 2.0)
    file = tmp_path / "model.json"
    for _ in range(2):
        model = MedianEnsemble([Member((0, 1), model)], 0)
        model.save(file)
        assert MedianEnsemble.load(file, 2).predict(np.zeros((1, 2))).tolist() == [12.0]
    MedianEnsemble([Member((0, 1), model)], 0).save(file)
    with pytest.raises(UserError, match="too deep"):
        MedianEnsemble.load(file, 2)


def part_of(content: bytes, kind: str = "linear") -> dict[str, object]:
    """A member of an ensemble with that file inside."""
    return {"kind": kind, "weight": 1.0, "columns": [0], "content": base64.b64encode(zlib.compress(content)).decode()}


def sum_of(*parts: dict[str, object]) -> bytes:
    return json.dumps({"bias": 0.0, "parts": parts}).encode()


def test_a_part_that_is_cut_short_or_unpacks_without_end_is_refused() -> None:
    part = part_of(constant(10.0).content())
    assert SumEnsemble.read(sum_of(part), "it", 1).predict(np.zeros((1, 1))).tolist() == [10.0]
    cut = base64.b64encode(base64.b64decode(str(part["content"]))[:-9]).decode()
    bomb = part_of(bytes(MOST_BYTES + 1))  # 64 kB of zlib
    for content in (sum_of(part | {"content": cut}), sum_of(part, bomb), sum_of(part_of(sum_of(bomb), "blend"))):
        with pytest.raises(UserError, match="cut short or too large"):
            SumEnsemble.read(content, "it", 1)


def test_many_parts_are_bounded_together_whatever_they_are_inside_of() -> None:
    part = part_of(constant(1.0).content())
    assert SumEnsemble.read(sum_of(*[part] * 200), "it", 1).predict(np.zeros((1, 1))).tolist() == [200.0]
    half = part_of(bytes(MOST_BYTES // 2 + 1))
    for content, words in (
        (sum_of(), "it has no parts, or more than 200 in all"),
        (sum_of(*[part] * 201), "it has no parts, or more than 200 in all"),
        (sum_of(*[part_of(sum_of(*[part] * 20), "blend")] * 10), "it has no parts, or more than 200 in all"),
        (sum_of(half, half), "cut short or too large"),
        (sum_of(*[part_of(sum_of(half), "blend")] * 2), "cut short or too large"),
    ):
        with pytest.raises(UserError, match=f"it is not made of models: .*{words}"):
            SumEnsemble.read(content, "it", 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "quantum"}, "A part of it is a model of the kind 'quantum'"),
        ({"kind": ["linear"]}, "A part of it is a model of the kind a list"),
        ({"weight": "1"}, "is not a number"),
        ({"weight": 1e31}, "is not a number"),
        ({"content": "not base64"}, "it is not made of models"),
        ({"content": base64.b64encode(b"not zlib").decode()}, "a part cannot be unpacked"),
        ({"content": 3}, "it is not made of models"),
        ({"columns": []}, "looks at none or other columns"),
        ({"columns": [True]}, "looks at none or other columns"),
        ({"columns": 0}, "it is not made of models"),
    ],
)
def test_a_part_that_is_none_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        SumEnsemble.read(sum_of(part_of(constant(1.0).content()) | change), "it", 1)


@pytest.mark.parametrize("change", [{"bias": None}, {"bias": 1e31}, {"bias": "1"}, {"parts": {}}, {"parts": [3]}])
def test_a_sum_of_something_else_is_refused(change: dict[str, object]) -> None:
    whole = json.loads(sum_of(part_of(constant(1.0).content())))
    with pytest.raises(UserError, match=r"^it is not "):
        SumEnsemble.read(json.dumps(whole | change).encode(), "it", 1)
    with pytest.raises(UserError, match=r"^it is not a mean of models: "):
        MedianEnsemble.read(json.dumps(whole | {"aside": 1}).encode(), "it", 1)


def test_a_part_of_columns_that_are_not_there_is_refused(tmp_path: Path) -> None:
    SumEnsemble([Member((5,), constant(10.0))]).save(tmp_path / "model.json")
    with pytest.raises(UserError, match="other columns than the 2 there are"):
        SumEnsemble.load(tmp_path / "model.json", 2)
