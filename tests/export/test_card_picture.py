"""The picture of a model's card."""

from __future__ import annotations

from xml.etree import ElementTree

import pandas as pd

from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.card import picture

SVG = "{http://www.w3.org/2000/svg}"


def rows(*loads: tuple[str, list[float], list[float]]) -> HeldOut:
    """Measured and predicted power under each load."""
    every = [
        pd.DataFrame({"workload": name, "measured": measured, "predicted": predicted})
        for name, measured, predicted in loads
    ]
    where = {"time": pd.Timestamp(0, tz="UTC"), "node": "a", "component": "platform", "protocol": Protocol.BLOCKED}
    return HeldOut.of(pd.concat(every).assign(**where))


def test_a_dot_is_where_its_watts_are() -> None:
    table = rows(("cpu", [100.0], [50.0]), ("<odd> & name", [0.0], [0.0]))
    drawn = ElementTree.fromstring(picture(table, Protocol.BLOCKED))  # noqa: S314  # our own
    dots = [path.get("d") for path in drawn.iter(f"{SVG}path") if path.get("stroke", "").startswith("hsl")]
    # A panel is 300 wide and high, up to 105 W; y counts from the top.
    assert sorted(dots) == ["M0 300h0", "M286 157h0"]
    assert "<odd> & name" in [text.text for text in drawn.iter(f"{SVG}text")]


def test_thousands_of_rows_give_a_small_picture() -> None:
    watts = [float(number) for number in range(50_000)]
    assert len(picture(rows(("cpu", watts, watts)), Protocol.BLOCKED)) < 20_000
