"""Error on the last 30 % of a real machine's rows, of trainers that saw the first 70 %: mean |error| in W.

Behind ± is its standard error, from the means of blocks of 30 rows: rows of one load are wrong together.

OMP_NUM_THREADS=1 python bench/accuracy.py [--data ../shared/data/nx12] [--seed 0] [--no-past] [trainer ...]

`--no-past` is for a model that is asked for one row at a time: the window before counts as one of the same load.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from kepler_train.evaluate.protocols import Protocol, gap_of, splits
from kepler_train.extract.row_times import RowTimes, workloads_or_blocks
from kepler_train.extract.user_frame import read_user_frame
from kepler_train.models.lags import lagged_names, with_lags
from kepler_train.train.trainer import trainer
from kepler_train.train.training_set import training_sets

FILE = "preprocess_abs_default_rapl_{}.csv"
SOURCE, FOLDS, BLOCK = "rapl-sysfs", 5, 30
# By group and component: what is aimed at, and what the best of the earlier system's ten trainers reached (W).
AIMS = {
    ("Basic", "package"): (7.5, 20.7),
    ("CounterOnly", "package"): (6.6, 8.6),
    ("CounterIRQCombined", "package"): (7.0, 8.7),
    ("BPFOnly", "package"): (15.0, 15.7),
    ("Basic", "dram"): (1.6, 2.96),
    ("CounterOnly", "dram"): (2.3, 2.92),
}


def forward_error(file: Path, group: str, component: str, name: str, seed: int, *, past: bool) -> tuple[float, float]:
    """Mean absolute error (W) on the last rows, and its standard error; all is chosen and fitted on the first."""
    given = read_user_frame(file, SOURCE, "nx12")
    own = trainer(name)
    rows = workloads_or_blocks(given.whole(), FOLDS)
    seen = with_lags(rows, given.features, own.lags)
    features = lagged_names(given.features, own.lags)
    column = f"{SOURCE}/{component}_power"
    data = training_sets(seen, features, {component: column}, group, intercept=True, seed=seed)[component]
    gap = gap_of(len(rows), FOLDS, own.lags)
    ((inside, outside),) = splits(Protocol.FORWARD, RowTimes.of(rows), FOLDS, seed, gap)
    model = own.fit(data.take(inside))
    asked = seen if past else with_lags(rows.drop(columns="time"), given.features, own.lags)
    off = np.abs(model.predict(asked[features].to_numpy()[outside]) - data.y[outside])
    blocks = np.array([part.mean() for part in np.array_split(off, len(off) // BLOCK)])
    return float(off.mean()), float(blocks.std(ddof=1) / np.sqrt(len(blocks)))


def main() -> None:
    """Print a row for each group and component."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trainers", nargs="*", default=["auto"])
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared/data/nx12")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-past", action="store_true")
    asked = parser.parse_args()
    if not asked.data.is_dir():
        print(f"{asked.data} is not there: nothing is measured.")
        return
    print("| component, group | earlier system | aim |", " | ".join(asked.trainers), "| CPU s |")
    for (group, component), (aim, earlier) in AIMS.items():
        started = time.process_time()
        file = asked.data / FILE.format(group)
        errors = [
            forward_error(file, group, component, name, asked.seed, past=not asked.no_past) for name in asked.trainers
        ]
        spent = time.process_time() - started
        shown = " | ".join(f"{error:.2f} ± {deviation:.2f}" for error, deviation in errors)
        print(f"| {component} {group} | {earlier} | {aim} | {shown} | {spent:.1f} |", flush=True)


if __name__ == "__main__":
    main()
