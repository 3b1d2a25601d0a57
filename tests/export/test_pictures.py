"""The pictures of a pipeline: what is where on them, and that it can be read."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from kepler_train.evaluate.evaluation import Evaluation, ModelVerdict, TrainingSummary
from kepler_train.evaluate.judged import HeldOut
from kepler_train.export.pictures import best_alike, draw_pictures, pictured
from kepler_train.export.pictures.error_map import draw_error_map
from kepler_train.export.pictures.errors import draw_errors
from kepler_train.export.pictures.estimate import draw_estimate
from kepler_train.export.pictures.held_out import draw_held_out
from kepler_train.export.pictures.power_curve import draw_power_curve, draw_power_curves, medians
from kepler_train.export.pictures.residuals import draw_residuals
from kepler_train.export.pictures.style import number, shorten, workload_marks
from kepler_train.export.standings import Standing, Table
from kepler_train.model_key import ModelKey
from kepler_train.models.metadata import ErrorFigures

if TYPE_CHECKING:
    from drawn import Drawn  # which imports matplotlib

SOURCES = {"rapl-sysfs": ["package", "core", "uncore", "dram"], "acpi": ["platform"]}
GROUPS = ["BPFIRQ", "BPFOnly", "Basic", "CounterIRQCombined", "CounterOnly"]
TRAINERS = [f"{name}RegressionTrainer" for name in ("Linear", "Polynomial", "Logistic", "Exponential", "Gradient")]
LOADS = [f"load {number}" for number in range(25)]
KEY = ModelKey("acpi", "AbsPower", "Basic", "LinearRegressionTrainer")


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


def test_all_pictures_can_be_read_with_many_models_components_and_loads(tmp_path: Path, drawn: list[Drawn]) -> None:
    draw_pictures(evaluation(), held_out, tmp_path)
    tables = [f"{source}_{output_type}" for source in SOURCES for output_type in ("AbsPower", "DynPower")]
    names = [f"{table}_{kind}.png" for table in tables for kind in ("model_metadata", "power_curve")]
    assert {file.name for file in tmp_path.iterdir()} == {"held_out.png", *names}
    assert len(drawn) == 9
    for picture in drawn:
        (width, height), boxes = picture.size, np.array([word.box.extents for word in picture.texts])
        beyond = (boxes < 0).any(axis=1) | (boxes > [width, height, width, height]).any(axis=1)
        assert [picture.words[place] for place in np.flatnonzero(beyond)] == []
        level = [word for word in picture.texts if word.level]  # the boxes of slanted texts are larger than the texts
        left, bottom, right, top = np.array([word.box.extents for word in level]).T
        over = (left[:, None] < right) & (right[:, None] > left) & (bottom[:, None] < top) & (top[:, None] > bottom)
        assert [(level[one].text, level[other].text) for one, other in np.argwhere(np.triu(over, 1))] == []


def test_a_map_has_the_error_of_every_model_in_blocks_and_under_unseen_load(tmp_path: Path, drawn: list[Drawn]) -> None:
    def standing(trainer: str, group: str, blocked: float, unseen: float, passes: bool = True) -> Standing:
        figures = {"blocked": errors(blocked, 60.0), "leave-one-workload-out": errors(unseen)}
        return Standing((group,), trainer, figures, passes=passes)

    models = [
        standing("Line", "Basic", 3.0, 4.25),
        standing("Line", "BPFOnly", 123.4, 45678.9),
        standing("Forest", "Basic", 1.0, 9.5),
        standing("Forest", "BPFOnly", 0.5, 1.75, passes=False),  # the least error, and not published
        standing("Tree", "Basic", 20.0, 30.0),  # of BPFOnly there is no tree
        Standing(("BPFOnly",), "the mean power", {"blocked": errors(40.0, 60.0)}, trivial=True),
    ]
    draw_error_map([Table("acpi", "AbsPower", "platform", models)], tmp_path / "map.png")
    words = {word.text: word for word in drawn[0].texts}
    figures = {"3.00\n4.25", "123\n5e4", "1.00\n9.50", "0.50\n1.75", "20.0\n30.0"}
    assert figures == {text for text in words if "\n" in text and "Held out" not in text}
    assert [text for text in figures if words[text].bold] == ["3.00\n4.25"]
    assert words["0.50\n1.75"].colour == "#666666"
    assert {"platform (mean 60.0 W)", "Line", "Forest", "Tree", "Basic", "BPFOnly"} <= set(words)
    axis = drawn[0].figure.axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["Forest", "Line", "Tree"]
    refused, forest, far, best, none, tree = axis.collections[0].get_array().reshape(6, 3)
    assert np.allclose(refused, 0xEE / 255)
    assert np.allclose(none, 1)
    assert best.sum() > forest.sum() > tree.sum() > far.sum()  # the larger the error, the darker


def test_curves_are_of_the_best_trainers_over_the_same_load() -> None:
    judged = evaluation(refused="acpi/DynPower/BPFIRQ/Linear")
    assert [str(key) for key in best_alike(judged, "acpi_AbsPower")] == [
        f"acpi/AbsPower/BPFIRQ/{name}" for name in TRAINERS[:3]
    ]
    # Without its best model Linear is there with its next one.
    assert [str(key) for key in best_alike(judged, "acpi_DynPower")] == [
        "acpi/DynPower/BPFIRQ/PolynomialRegressionTrainer",
        "acpi/DynPower/BPFIRQ/LogisticRegressionTrainer",
        "acpi/DynPower/BPFIRQ/ExponentialRegressionTrainer",
    ]


def test_without_published_models_there_are_no_tables_to_picture(tmp_path: Path) -> None:
    nothing = evaluation(refused="/")
    assert pictured(nothing) == []
    draw_pictures(nothing, held_out, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["held_out.png"]
    published = pictured(evaluation(refused="DynPower"))
    assert [pictures.table for pictures in published] == ["rapl-sysfs_AbsPower", "acpi_AbsPower"]


def test_of_no_model_there_is_no_picture(tmp_path: Path) -> None:
    draw_held_out({}, tmp_path / "held_out.png")
    draw_pictures(Evaluation(models={}, baselines={}, missing={}), held_out, tmp_path)
    assert list(tmp_path.iterdir()) == []


def draw_two(folder: Path) -> dict[str, bytes]:
    """Two pictures in every format: one with fixed places, one with places that are fitted."""
    folder.mkdir()
    for suffix in (".png", ".svg", ".pdf"):
        draw_held_out({KEY: held_out(KEY)}, folder / f"held_out{suffix}")
        draw_power_curves({KEY: held_out(KEY)}, {"platform": "cpu"}, folder / f"curves{suffix}")
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_same_picture_is_the_same_file_whoever_draws_it(tmp_path: Path) -> None:
    """The other process has a user with settings of matplotlib, and no folder of its own that can be written."""
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.facecolor: red\n")
    (tmp_path / "file").touch()
    nowhere = dict.fromkeys(("HOME", "MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), f"{tmp_path}/file/below")
    program = """
import sys
from dataclasses import replace
from pathlib import Path
from kepler_train.export import step
assert "matplotlib" not in sys.modules  # to import it takes half a second, which only those who draw should pay
from test_pictures import draw_two
draw_two(Path(sys.argv[1]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "theirs"],
        env=os.environ | nowhere | {"MATPLOTLIBRC": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    theirs = {file.name: file.read_bytes() for file in (tmp_path / "theirs").iterdir()}
    assert len(theirs) == 6
    assert draw_two(tmp_path / "mine") == theirs


def test_rows_of_blocks_are_not_called_loads(tmp_path: Path, drawn: list[Drawn]) -> None:
    for judged in (held_out(KEY), held_out(KEY, "block 1")):
        draw_held_out({KEY: judged}, tmp_path / "held_out.png")
    titles = [[word for word in picture.words if "held out" in word] for picture in drawn]
    assert titles == [["workload (whole loads held out)"], ["workload (blocks of time held out)"]]


def test_a_workload_may_have_any_name(tmp_path: Path, drawn: list[Drawn]) -> None:
    names = ["a $x$ b", "_hidden", "two\nlines\x1b", "负载", "x" * 500, ""]
    for name in names:
        draw_held_out({KEY: held_out(KEY, name)}, tmp_path / "held_out.png")
        draw_held_out({KEY: held_out(KEY, name)}, tmp_path / "held_out.svg")
    shown = [picture.words for picture in drawn[::2]]
    for words, name in zip(shown, ["a $x$ b", "_hidden", "two lines", "负载", "x" * 47 + "…"], strict=False):
        assert name in words


def test_workloads_have_the_same_mark_in_every_picture_and_no_two_the_same() -> None:
    marks = workload_marks([*LOADS, "idle"])
    assert len(set(marks.values())) == 26
    assert marks == workload_marks(LOADS)  # idle is grey, and takes the colour of no other


def test_a_curve_goes_through_the_medians_of_parts_of_the_load() -> None:
    # Of 25 parts from 0 to 100 the first has 0 to 3.99, the last 96 to 100; two rows at 50 are too few.
    load = np.array([1.0, 0.0, 2.0, 50.0, 50.0, 97.0, 98.0, 100.0])
    power = np.array([11.0, 10.0, 999.0, 60.0, 60.0, 107.0, 108.0, 0.0])
    x, y = medians(load, power)
    assert (x.tolist(), y.tolist()) == ([1.0, 98.0], [11.0, 107.0])
    assert medians(np.full(3, 7.0), np.array([5.0, 6.0, 9.0]))[1].tolist() == [6.0]
    assert medians(np.array([7.0]), np.array([5.0]))[0].tolist() == []


def test_curves_show_what_was_measured_and_what_each_model_predicts(tmp_path: Path, drawn: list[Drawn]) -> None:
    other = replace(KEY, trainer="PolynomialRegressionTrainer")
    draw_power_curves({KEY: held_out(KEY), other: held_out(other)}, {"platform": "cpu"}, tmp_path / "curves.png")
    (axis,) = drawn[0].figure.axes
    measured, first, second = axis.lines
    assert measured.get_ydata().tolist() == np.linspace(50, 100, 100).tolist()
    assert (measured.get_xdata() / measured.get_ydata()).tolist() == pytest.approx([1e9] * 100)
    for line, key in ((first, KEY), (second, other)):
        assert len(line.get_xdata()) == 25
        assert (line.get_ydata() - line.get_xdata() / 1e9).tolist() == pytest.approx([error_of(key)] * 25)
    assert {"measured", "LinearRegressionTrainer on Basic", "PolynomialRegressionTrainer on Basic"} <= set(
        drawn[0].words
    )
    assert {"cpu (1/s)", "platform power (W)"} <= set(drawn[0].words)


def test_a_handful_of_rows_has_dots_and_no_curve(tmp_path: Path, drawn: list[Drawn]) -> None:
    few = HeldOut.of(held_out(KEY).frame().iloc[[0, 30, 60, 100, 130, 160]])
    draw_power_curves({KEY: few}, {"platform": "cpu_instructions"}, tmp_path / "few.png")
    dots, curve = drawn[0].figure.axes[0].lines
    assert (len(dots.get_xdata()), len(curve.get_xdata())) == (3, 0)


@pytest.fixture
def estimates() -> pd.DataFrame:
    """Four rows of two components under two loads, estimated with +1 W and −2 W."""
    times = pd.date_range("2026-11-14", periods=4, freq="3s", tz="UTC")
    rows = pd.DataFrame({"time": times, "node": "a", "workload": ["cpu", "cpu", "vm", "vm"]})
    rows = pd.concat([rows.assign(component=name, measured=[1.0, 2.0, 3.0, 4.0]) for name in ("package", "dram")])
    rows["predicted"] = rows["measured"] + np.where(rows["workload"] == "cpu", 1.0, -2.0)
    return rows.assign(low=rows["predicted"] - 0.5, high=rows["predicted"] + 0.5).reset_index(drop=True)


def test_estimates_over_time_are_beside_what_was_measured(
    tmp_path: Path, drawn: list[Drawn], estimates: pd.DataFrame
) -> None:
    draw_estimate(estimates, "a model", tmp_path / "estimate.png")
    draw_estimate(estimates.assign(measured=np.nan), "a model", tmp_path / "estimate.png")
    lines = [[line.get_ydata().tolist() for line in axis.lines] for axis in drawn[0].figure.axes]
    assert lines == 2 * [[[1, 2, 3, 4], [2, 3, 1, 2]]]
    band = drawn[0].figure.axes[0].collections[0].get_datalim(drawn[0].figure.axes[0].transData)
    assert (band.y0, band.y1) == (0.5, 3.5)
    assert {"a model", "package (W)", "dram (W)", "UTC", "measured", "estimated", "interval"} <= set(drawn[0].words)
    assert len(drawn[1].figure.axes[0].lines) == 1
    assert "measured" not in drawn[1].words


def test_estimates_against_the_load(tmp_path: Path, drawn: list[Drawn], estimates: pd.DataFrame) -> None:
    loads = {name: pd.Series([1.0, 2.0, 3.0, 1.0], name="cpu") for name in ("package", "dram")}
    draw_power_curve(estimates, loads, "a model", tmp_path / "curve.png")
    for axis in drawn[0].figure.axes:
        measured, estimated, _ = axis.lines
        assert measured.get_xdata().tolist() == estimated.get_xdata().tolist() == [1, 2, 3, 1]
        assert measured.get_ydata().tolist() == [1, 2, 3, 4]
        assert estimated.get_ydata().tolist() == [2, 3, 1, 2]
    assert {"a model", "cpu (1/s)", "package power (W)", "dram power (W)"} <= set(drawn[0].words)


def test_residuals_are_by_workload(tmp_path: Path, drawn: list[Drawn], estimates: pd.DataFrame) -> None:
    draw_residuals(estimates, "a model", tmp_path / "residuals.png")
    for axis in drawn[0].figure.axes:
        assert [label.get_text() for label in axis.get_yticklabels()] == ["vm", "cpu"]
        boxes = [box.get_path().get_extents() for box in axis.patches]
        assert [(box.x0, box.x1) for box in boxes] == [(-2, -2), (1, 1)]
    assert {"a model", "package", "dram", "estimated − measured (W)"} <= set(drawn[0].words)


def test_errors_have_a_bar_for_every_model_and_protocol(tmp_path: Path, drawn: list[Drawn]) -> None:
    errors = [("line", "blocked", 3.0), ("line", "forward", 4.0), ("tree", "blocked", 1.0), ("tree", "forward", 2.0)]
    table = pd.DataFrame(errors, columns=["model", "protocol", "mae"]).assign(component="package")
    draw_errors(table, tmp_path / "errors.png")
    (axis,) = drawn[0].figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["line", "tree"]
    assert [bar.get_width() for bar in axis.patches] == [3, 1, 4, 2]
    assert {"blocked", "forward", "package: mean absolute error (W)"} <= set(drawn[0].words)


def test_numbers_and_names_are_short() -> None:
    numbers = [number(value) for value in (0, 0.25, 999, 1500, -4.5e10, 2e12)]
    assert numbers == ["0", "0.25", "999", "1.5 k", "-45 G", "2 T"]
    assert [shorten(name, 6) for name in ("short", "  a \n b ", "longer than that")] == ["short", "a b", "longe…"]
