"""Power and load over time as a picture."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from drawn import Drawn

from kepler_train.export.pictures.timeline import _with_gaps, draw_timeline
from kepler_train.samples.schedule import Phase, Schedule

TIMES = pd.date_range("2026-11-14T00:00:10", periods=6, freq="10s", tz="UTC")


def rows(node: str) -> pd.DataFrame:
    return pd.DataFrame({"time": TIMES, "node": node, "workload": "", "cpu": range(6), "rapl/package_power": range(6)})


def test_no_line_is_drawn_across_windows_that_were_dropped() -> None:
    times, values = _with_gaps(rows("a").drop(index=[2, 3]), "cpu")
    assert values.tolist()[:2] == [0, 1]
    assert np.isnan(values[2])
    assert values.tolist()[3:] == [4, 5]
    assert len(times) == 5


def test_every_node_has_its_power_its_load_and_its_phases(tmp_path: Path, drawn: list[Drawn]) -> None:
    start = TIMES[0].to_pydatetime()
    phases = [
        Phase(load="a load with a name that is far too long to fit", start=start, end=start + timedelta(seconds=20)),
        Phase(load="idle", node="b", start=start + timedelta(seconds=30), end=start + timedelta(seconds=60)),
    ]
    frame = pd.concat([rows("a"), rows("b").assign(cpu=7, **{"rapl/package_power": 9})])
    draw_timeline(frame, "cpu", Schedule(phases=phases), tmp_path / "nodes.png")
    (picture,) = drawn
    lines = [[line.get_ydata().tolist() for line in axis.lines] for axis in picture.figure.axes]
    assert lines == [[list(range(6))], [list(range(6))], [[9] * 6], [[7] * 6]]
    names = [text for text in picture.words if "load with" in text or text == "idle"]
    assert names == ["a load with a name th…", "a load with a name th…", "idle"]
    spans = [len(axis.patches) for axis in picture.figure.axes]
    assert spans == [1, 1, 2, 2]
    assert {"a: power and load over time", "b: power and load over time", "rapl/package"} <= set(picture.words)
    assert {"power (W)", "cpu (1/s)", "UTC"} <= set(picture.words)
