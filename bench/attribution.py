"""Error of shared power per kind of container, by isolator and rule, on a simulated node whose truth is known.

python bench/attribution.py [--hours 12] [--group Basic] [--column rapl-sysfs/package_power]
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from kepler_train.catalog.methods import ATTRIBUTION_RULES
from kepler_train.extract.write_frames import extract_samples
from kepler_train.isolate.background import KnownBackground
from kepler_train.isolate.frames import isolate_frames
from kepler_train.isolate.isolation import attributed_file
from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import schema, table
from kepler_train.samples.schedule import read_schedule
from kepler_train.simulate.history import exported, write_schedule
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes
from kepler_train.simulate.share_errors import container_errors
from kepler_train.simulate.store import store_of
from kepler_train.simulate.truth import write_container_truth
from kepler_train.simulate.workloads import STRESS_LOADS
from kepler_train.spec import RunSpec


def write_samples(runs: list[NodeRun], folder: Path) -> None:
    """What Kepler would have shown of these nodes, as a query leaves it."""
    by_metric: dict[str, list[DecodedSeries]] = {}
    for one in store_of(exported(runs, "legacy", ["rapl-sysfs"], frozenset(), seed=0)).series:
        by_metric.setdefault(one.labels["__name__"], []).append(DecodedSeries(one.labels, one.times, one.values))
    for metric, series in by_metric.items():
        labels = {name for one in series for name in one.labels} - {"__name__"}
        pq.write_table(table(series, schema(metric, labels)), folder / f"{metric}.parquet")


def errors(work: Path, hours: float, group: str) -> pd.DataFrame:
    """Errors of every container, by isolator and rule."""
    runs = run_nodes(Scenario(start=1_794_614_400.0, duration=3600 * hours, seed=3))
    for name in ("samples", "frames"):
        (work / name).mkdir()
    write_samples(runs, work / "samples")
    write_schedule(work / "schedule.json", runs, "simulated")
    write_container_truth(work / "truth.parquet", runs)
    truth = pd.read_parquet(work / "truth.parquet")
    spec = RunSpec(feature_groups=[group], output_types=["DynPower"])
    extract_samples(work / "samples", spec, read_schedule(str(work / "schedule.json")), work / "frames")
    pieces = []
    for isolator in ("min", "profile"):
        for rule in ATTRIBUTION_RULES:
            out = work / f"{isolator}-{rule}"
            out.mkdir()
            asked = spec.model_copy(update={"isolator": isolator, "attribution": rule})
            isolate_frames(work / "frames", asked, KnownBackground(), out)
            found = container_errors(pd.read_parquet(out / attributed_file(group)), truth)
            pieces.append(found.assign(isolator=isolator, rule=rule))
    return pd.concat(pieces)


def main() -> None:
    """Print a row per kind of container and a column per isolator and rule: mean absolute error in W."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--hours", type=float, default=12)
    options.add_argument("--group", default="Basic")
    options.add_argument("--column", default="rapl-sysfs/package_power")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(None):
        found = errors(Path(folder), asked.hours, asked.group)
    found = found[found["column"] == asked.column]
    found["kind"] = ["load" if name in STRESS_LOADS else "other" for name in found["load"]]
    for by in (["kind", "load"], ["kind"]):
        weighted = found.assign(watts=found["watts"] * found["rows"], mae=found["mae"] * found["rows"])
        summed = weighted.groupby([*by, "isolator", "rule"])[["watts", "mae", "rows"]].sum()
        mean = summed[["watts", "mae"]].div(summed["rows"], axis=0)
        shown = mean["mae"].unstack(["isolator", "rule"])
        shown.insert(0, ("true", "W"), mean["watts"].groupby(level=by).first())
        print(f"\n{asked.column}, {asked.group}: mean absolute error (W)\n{shown.round(3).to_string()}")


if __name__ == "__main__":
    main()
