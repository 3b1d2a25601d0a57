"""The picture of a model's card."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.pictures.held_out import draw_held_out
from kepler_train.model_key import ModelKey

SVG = "{http://www.w3.org/2000/svg}"
KEY = ModelKey("acpi", "AbsPower", "Basic", "LinearRegressionTrainer")
BLUE, VERMILION, DIAGONAL = "#0072b2", "#d55e00", "#666666"


def rows(*loads: tuple[str, list[float], list[float]]) -> HeldOut:
    """Measured and predicted power under each load."""
    every = [
        pd.DataFrame({"workload": name, "measured": measured, "predicted": predicted})
        for name, measured, predicted in loads
    ]
    where = {"time": pd.Timestamp(0, tz="UTC"), "node": "a", "component": "platform", "protocol": Protocol.BLOCKED}
    return HeldOut.of(pd.concat(every).assign(**where))


def drawn(held_out: HeldOut, file: Path) -> ElementTree.Element:
    draw_held_out({KEY: held_out}, file)
    return ElementTree.fromstring(file.read_text())  # noqa: S314  # our own


def strokes(picture: ElementTree.Element, colour: str) -> list[tuple[float, ...]]:
    """Where each stroke of a colour in a panel starts and ends."""
    paths = [path for path in picture.iter(f"{SVG}path") if f"stroke: {colour}" in path.get("style", "")]
    ends = [re.findall(r"[ML] (\S+) (\S+)", path.get("d", "")) for path in paths if path.get("clip-path")]
    numbers = [tuple(map(float, end)) for path in ends for end in path]
    return [(*start, *end) for start, end in zip(numbers[::2], numbers[1::2], strict=True)]


def test_a_dot_is_where_its_watts_are(tmp_path: Path) -> None:
    picture = drawn(rows(("cpu", [100.0], [50.0]), ("<odd> & name", [0.0], [0.0])), tmp_path / "card.svg")
    ((left, bottom, right, top),) = strokes(picture, DIAGONAL)  # from 0 W to 105 W on both axes
    assert right - left == pytest.approx(bottom - top)
    side = right - left
    for colour, measured, predicted in ((BLUE, 0.0, 0.0), (VERMILION, 100.0, 50.0)):  # in the order of names
        ((x, y, _, _),) = strokes(picture, colour)
        assert x == pytest.approx(left + side * measured / 105, abs=0.15)
        assert y == pytest.approx(bottom - side * predicted / 105, abs=0.15)


def test_names_units_and_workloads_are_texts(tmp_path: Path) -> None:
    picture = drawn(rows(("cpu", [100.0], [50.0]), ("<odd> & name", [0.0], [0.0])), tmp_path / "card.svg")
    texts = {text.text for text in picture.iter(f"{SVG}text")}
    assert texts >= {"<odd> & name", "cpu", "platform", "measured platform power (W)", "predicted (W)"}
    assert texts >= {"AbsPower of acpi, Basic: LinearRegressionTrainer", "workload (blocks of time held out)"}


def test_thousands_of_rows_give_a_small_picture(tmp_path: Path) -> None:
    watts = [float(number) for number in range(50_000)]
    picture = drawn(rows(("cpu", watts, watts)), tmp_path / "card.svg")
    assert 200 <= len(strokes(picture, BLUE)) <= 300
    assert (tmp_path / "card.svg").stat().st_size < 25_000


def test_rows_of_an_earlier_model_are_not_in_the_next_picture(tmp_path: Path) -> None:
    both = rows(("cpu", [100.0, 90.0], [50.0, 60.0]), ("stream", [10.0], [20.0]))
    one = rows(("cpu", [3.0], [2.0]), ("stream", [1.0], [1.0]))
    drawn(one, tmp_path / "first.svg")
    drawn(both, tmp_path / "other.svg")
    again = drawn(one, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "first.svg").read_bytes()
    assert len(strokes(again, BLUE)) == 1
    assert len(strokes(drawn(both, tmp_path / "both.svg"), BLUE)) == 2
