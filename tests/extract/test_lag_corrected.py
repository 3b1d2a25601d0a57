"""An exporter that reads energy a while after work: the lag is found, corrected, and loses no energy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.optimize import nnls

from kepler_train.extract import node_extraction
from kepler_train.extract.meter_lag import UNKNOWN_LAG
from kepler_train.extract.node_extraction import NodeExtraction, extractions
from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import schema, table
from kepler_train.samples.schedule import Schedule
from kepler_train.simulate.history import exported
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.simulate.store import store_of
from kepler_train.spec import RunSpec

SPEC = RunSpec(feature_groups=["CounterOnly"])
SCENARIO = Scenario(start=1_794_614_400.0, duration=4 * 3600, seed=11, containers=6, phase=300, idle=120)
POWER = "rapl-sysfs/package_power"


def extraction(folder: Path, skew: float) -> NodeExtraction:
    folder.mkdir()
    by_metric: dict[str, list[DecodedSeries]] = {}
    runs = run_nodes(replace(SCENARIO, skew=skew))
    for one in store_of(exported(runs, "legacy", ["rapl-sysfs"], frozenset(), seed=5)).series:
        by_metric.setdefault(one.labels["__name__"], []).append(DecodedSeries(one.labels, one.times, one.values))
    for metric, answer in by_metric.items():
        labels = {name for one in answer for name in one.labels} - {"__name__"}
        pq.write_table(table(answer, schema(metric, labels)), folder / f"{metric}.parquet")
    return next(extractions(folder, SPEC, "legacy", Schedule()))


def unexplained(own: NodeExtraction) -> float:
    """The share of the variance of power that the counters of the same window do not explain."""
    rows = own.node().to_pandas()
    features = rows[["cache_miss", "cpu_cycles", "cpu_instructions"]].to_numpy()
    work = np.column_stack([features / features.max(axis=0), np.ones(len(rows))])
    _, left = nnls(work, rows[POWER].to_numpy())
    return float(left**2 / len(rows) / rows[POWER].var(ddof=0))


@pytest.mark.parametrize("skew", [6.0, -6.0])
def test_a_lag_is_found_and_corrected_and_no_energy_is_lost(
    skew: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrected = extraction(tmp_path / "corrected", skew)
    assert corrected.lag.significant
    assert corrected.lag.seconds == pytest.approx(skew, abs=1.5)  # a tenth of a scrape
    monkeypatch.setattr(node_extraction, "estimate_lag", lambda *_: UNKNOWN_LAG)
    as_it_is = extraction(tmp_path / "as-it-is", skew)
    assert unexplained(corrected) < 0.9 * unexplained(as_it_is)
    energy, before = (own.node().to_pandas()[POWER].sum() * 15 for own in (corrected, as_it_is))
    assert energy == pytest.approx(before, rel=0.005)  # all but the window at the end that is cut


def test_without_a_lag_power_stays_as_metered(tmp_path: Path) -> None:
    assert not extraction(tmp_path / "none", 0.0).lag.significant
