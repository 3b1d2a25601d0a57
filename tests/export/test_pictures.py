"""The pictures of a pipeline: what is where on them, and that it can be read."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from kepler_train.evaluate.evaluation import Evaluation, ModelVerdict, TrainingSummary
from kepler_train.evaluate.judged import HeldOut
from kepler_train.export import canvas as drawing
from kepler_train.export.canvas import PALE, Canvas
from kepler_train.export.error_map import plot_error_map
from kepler_train.export.panels import Legend, Panel, limits, number, ticks
from kepler_train.export.pictures import best_alike, draw_pictures, pictured
from kepler_train.export.plot import plot_held_out
from kepler_train.export.power_curve import medians, plot_power_curves
from kepler_train.export.standings import Standing, Table
from kepler_train.model_key import ModelKey
from kepler_train.models.metadata import ErrorFigures

SOURCES = {"rapl-sysfs": ["package", "core", "uncore", "dram"], "acpi": ["platform"]}
GROUPS = ["BPFIRQ", "BPFOnly", "Basic", "CounterIRQCombined", "CounterOnly"]
TRAINERS = [f"{name}RegressionTrainer" for name in ("Linear", "Polynomial", "Logistic", "Exponential", "Gradient")]
LOADS = [f"load {number}" for number in range(25)]


def rows(component: str, power: float, error: float) -> pd.DataFrame:
    """100 rows under 25 loads with `power` to 2 · `power` W, predicted with a constant error."""
    measured = np.linspace(power, 2 * power, 100)
    columns = {
        "time": pd.Timestamp(0, tz="UTC"),
        "node": "a",
        "workload": np.repeat(LOADS, 4),
        "component": component,
        "load": 1e9 * measured,
    }
    own = pd.DataFrame(columns | {"measured": measured, "predicted": measured + error})
    return pd.concat([own.assign(protocol=name) for name in ("blocked", "leave-one-workload-out")])


def error_of(key: ModelKey) -> float:
    """The error (W) of a model in these tests: no two are alike."""
    return 0.5 + GROUPS.index(key.group) + 0.11 * TRAINERS.index(key.trainer)


def held_out(key: ModelKey, workload: str = "") -> HeldOut:
    table = pd.concat([rows(name, 50, error_of(key)) for name in SOURCES[key.source]])
    return HeldOut.of(table.assign(workload=workload) if workload else table)


def errors(mae: float, mean_power: float = 75.0) -> ErrorFigures:
    return ErrorFigures.model_construct(mae=mae, mean_power=mean_power)


def evaluation(refused: str = "") -> Evaluation:
    """Models of both sources and output types; whose part has `refused` in its name is not published."""
    keys = [ModelKey(s, o, g, t) for s in SOURCES for o in ("AbsPower", "DynPower") for g in GROUPS for t in TRAINERS]
    models = {}
    for key in keys:
        components = SOURCES[key.source]
        figures = {
            protocol: {name: errors(times * error_of(key)) for name in components}
            for protocol, times in (("blocked", 1), ("leave-one-workload-out", 2))
        }
        main = "bpf_cpu_time_ms" if "BPF" in key.group else "cpu_instructions"
        training = TrainingSummary(main_features=dict.fromkeys(components, main))
        passes = not refused or refused not in str(key)
        models[key] = ModelVerdict.model_construct(figures=figures, passes=passes, training=training)
    return Evaluation(models=models, baselines={}, missing={})


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[Any, ...]]]:
    """The words on every picture that is saved, with their places, and the size of the picture last."""
    seen: list[list[tuple[Any, ...]]] = []
    save = Canvas.save

    def noted(self: Canvas, file: Path) -> None:
        seen.append([*self._words, self._size])
        save(self, file)

    monkeypatch.setattr(Canvas, "save", noted)
    return seen


def test_all_pictures_can_be_read_with_many_models_components_and_loads(
    tmp_path: Path, words: list[list[tuple[Any, ...]]]
) -> None:
    draw_pictures(evaluation(), held_out, tmp_path)
    tables = [f"{source}_{output_type}" for source in SOURCES for output_type in ("AbsPower", "DynPower")]
    names = [f"{table}_{kind}.png" for table in tables for kind in ("model_metadata", "power_curve")]
    assert {file.name for file in tmp_path.iterdir()} == {"held_out.png", *names}
    for *texts, (width, height) in words:
        boxes = []
        for (x, y), text, size, anchor, _, bold in texts:
            left, top, right, bottom = drawing._font(size, bold).getbbox(text, anchor=anchor)
            boxes.append((text, x + left, y + top, x + right, y + bottom))
        outside = [box for box in boxes if not (0 <= box[1] < box[3] <= width and 0 <= box[2] < box[4] <= height)]
        assert outside == []
        for (one, *a), (other, *b) in combinations(boxes, 2):
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, f"{one} is over {other}"


def test_a_map_has_the_error_of_every_model_in_blocks_and_under_unseen_load(
    tmp_path: Path, words: list[list[tuple[Any, ...]]]
) -> None:
    def standing(trainer: str, group: str, blocked: float, unseen: float, passes: bool = True) -> Standing:
        figures = {"blocked": errors(blocked, 60.0), "leave-one-workload-out": errors(unseen)}
        return Standing((group,), trainer, figures, passes=passes)

    models = [
        standing("Line", "Basic", 3.0, 4.25),
        standing("Line", "BPFOnly", 123.4, 45678.9),
        standing("Forest", "Basic", 1.0, 9.5),
        standing("Forest", "BPFOnly", 0.5, 1.75, passes=False),  # the least error, and not published
        Standing(("BPFOnly",), "the mean power", {"blocked": errors(20.0, 60.0)}, trivial=True),
    ]
    plot_error_map([Table("acpi", "AbsPower", "platform", models)], tmp_path / "map.png")
    figures = {text: (colour, bold) for _, text, _, _, colour, bold in words[0][:-1]}
    assert {"3.00", "4.25", "123", "5e4", "1.00", "9.50", "0.50", "1.75"} <= set(figures)
    assert {text for text, (_, bold) in figures.items() if bold} == {"3.00", "4.25"}
    assert figures["0.50"] == figures["1.75"] == (PALE, False)
    assert "platform (mean 60.0 W)" in figures
    assert "20.0" not in figures


def test_curves_are_of_the_best_trainers_over_the_same_load() -> None:
    found = evaluation(refused="acpi/DynPower/BPFIRQ/Linear")
    assert best_alike(found, "acpi_AbsPower") == [ModelKey("acpi", "AbsPower", "BPFIRQ", name) for name in TRAINERS[:3]]
    # Without its best model Linear is there with its next one.
    assert [str(key) for key in best_alike(found, "acpi_DynPower")] == [
        "acpi/DynPower/BPFIRQ/PolynomialRegressionTrainer",
        "acpi/DynPower/BPFIRQ/LogisticRegressionTrainer",
        "acpi/DynPower/BPFIRQ/ExponentialRegressionTrainer",
    ]


def test_without_published_models_there_are_no_tables_to_picture(tmp_path: Path) -> None:
    nothing = evaluation(refused="/")
    assert pictured(nothing) == []
    draw_pictures(nothing, held_out, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["held_out.png"]
    assert pictured(evaluation(refused="DynPower")) == ["rapl-sysfs_AbsPower", "acpi_AbsPower"]


def test_of_no_model_there_is_no_picture(tmp_path: Path) -> None:
    plot_held_out({}, tmp_path / "held_out.png")
    draw_pictures(Evaluation(models={}, baselines={}, missing={}), held_out, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_dot_is_where_its_numbers_are(tmp_path: Path) -> None:
    canvas = Canvas(200, 100)
    panel = Panel(canvas, 50, 10, 100, 80, across=(0, 10), up=(0, 40))
    assert list(panel.places(np.array([0.0, 5.0, 11.0]), np.array([40.0, 10.0, 20.0]))) == [(50, 10), (100, 70)]
    canvas.dots(panel.places(np.array([5.0]), np.array([10.0])), "#ff0000", radius=3, alpha=1)
    canvas.save(tmp_path / "dot.png")
    with Image.open(tmp_path / "dot.png") as picture:
        assert picture.getpixel((100, 70)) == (255, 0, 0)
        assert picture.getpixel((106, 70)) == (255, 255, 255)


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        key = ModelKey("acpi", "AbsPower", "Basic", "LinearRegressionTrainer")
        plot_held_out({key: held_out(key)}, tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_rows_of_blocks_are_not_called_loads(tmp_path: Path, words: list[list[tuple[Any, ...]]]) -> None:
    key = ModelKey("acpi", "AbsPower", "Basic", "LinearRegressionTrainer")
    for found in (held_out(key), held_out(key, "block 1")):
        plot_held_out({key: found}, tmp_path / "held_out.png")
    titles = [[text for _, text, *_ in picture[:-1] if "held out" in text] for picture in words]
    assert titles == [["workload (whole loads held out)"], ["workload (blocks of time held out)"]]


def test_a_curve_goes_through_the_medians_of_parts_of_the_load() -> None:
    # Of 25 parts from 0 to 100 the first has 0 to 3.99, the last 96 to 100; two rows at 50 are too few.
    load = np.array([1.0, 0.0, 2.0, 50.0, 50.0, 97.0, 98.0, 100.0])
    power = np.array([11.0, 10.0, 999.0, 60.0, 60.0, 107.0, 108.0, 0.0])
    x, y = medians(load, power)
    assert (x.tolist(), y.tolist()) == ([1.0, 98.0], [11.0, 107.0])
    assert medians(np.full(3, 7.0), np.array([5.0, 6.0, 9.0]))[1].tolist() == [6.0]
    assert medians(np.array([7.0]), np.array([5.0]))[0].tolist() == []


def test_a_handful_of_rows_has_dots_and_no_curve(tmp_path: Path) -> None:
    key = ModelKey("acpi", "AbsPower", "Basic", "LinearRegressionTrainer")
    few = HeldOut.of(held_out(key).frame().iloc[[0, 30, 60, 100, 130, 160]])
    plot_power_curves({key: few}, {"platform": "cpu_instructions"}, tmp_path / "few.png")
    assert (tmp_path / "few.png").stat().st_size > 1000


def test_ticks_are_round_numbers() -> None:
    assert ticks(0, 62) == [0, 10, 20, 30, 40, 50, 60]
    assert ticks(44.2e9, 84e9) == [45e9, 50e9, 55e9, 60e9, 65e9, 70e9, 75e9, 80e9]
    assert [number(value) for value in (0, 0.25, 999, 1500, 4.5e10, 2e12)] == [
        "0",
        "0.25",
        "999",
        "1.5 k",
        "45 G",
        "2 T",
    ]


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_every_range_has_a_few_ticks_inside(low: float, width: float) -> None:
    high = low + width
    if (high - low) > 1e-9 * max(abs(low), abs(high)):
        found = ticks(low, high)
        assert 3 <= len(found) <= 10
        room = 1e-6 * (high - low) + 1e-9 * max(abs(low), abs(high))
        assert all(low - room <= value <= high + room for value in found)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=5))
def test_limits_hold_all_numbers_and_are_never_empty(values: list[float]) -> None:
    low, high = limits(np.array(values))
    assert 0 <= low <= min(values)
    assert high >= max(values)
    assert high > low
    assert math.isfinite(high)


def test_a_legend_takes_as_many_lines_as_its_names_need() -> None:
    names = {f"a workload by the name of {number}": "#000000" for number in range(12)}
    assert (
        Legend(names, 800).height > Legend(names, 2000).height > Legend(dict.fromkeys(["one"], "#000000"), 800).height
    )
    assert Legend({"x" * 500: "#000000"}, 300)._columns == 1
    odd = Legend({"two\nlines\tand …": "#000000", "": "#000000"}, 300)
    odd.draw(Canvas(300, odd.height), 0)
