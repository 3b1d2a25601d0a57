"""Power and load over time as a picture."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.export.timeline import _with_gaps, plot_timeline
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


def test_every_node_has_its_panels(tmp_path: Path) -> None:
    start = TIMES[0].to_pydatetime()
    phases = [
        Phase(load="a load with a name that is far too long to fit", start=start, end=start + timedelta(seconds=20)),
        Phase(load="idle", node="b", start=start + timedelta(seconds=30), end=start + timedelta(seconds=60)),
    ]
    sizes = {}
    for nodes in (["a"], ["a", "b"]):
        file = tmp_path / f"{len(nodes)}.svg"
        plot_timeline(pd.concat(map(rows, nodes)), "cpu", Schedule(phases=phases), file)
        text = file.read_text()
        sizes[len(nodes)] = text.count('id="axes_')
        assert text.startswith("<?xml")
    assert sizes == {1: 2, 2: 4}
