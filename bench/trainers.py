"""Every trainer on rows of five features: CPU ms of a fit, and how much more of ten times the rows.

OMP_NUM_THREADS=1 python bench/trainers.py [--rows 2400] [trainer ...]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from kepler_train.train.trainer import Trainer, house_trainers, trainer
from kepler_train.train.training_set import TrainingSet

FEATURES = ["cpu_instructions", "cache_miss", "cpu_cycles", "bpf_cpu_time_ms", "bpf_page_cache_hit"]


def made_up(rows: int) -> TrainingSet:
    """20 W + 60 W · √x of the main feature + products of others + noise of 1.5 W."""
    chance = np.random.default_rng(0)
    X = chance.gamma(2, 1e6, (rows, len(FEATURES)))
    x = X / X.max(axis=0)
    y = 20 + 60 * np.sqrt(x[:, 0]) + 15 * x[:, 1] * x[:, 2] + 5 * x[:, 3] + chance.normal(0, 1.5, rows)
    loads = np.array([f"load {number * 10 // rows}" for number in range(rows)], dtype=object)
    return TrainingSet(FEATURES, X, y, loads, 3.0 * np.arange(rows, dtype=np.float64))


def milliseconds(method: Trainer, data: TrainingSet, times: int) -> float:
    """The least CPU time of several fits (ms)."""
    spent = []
    for _ in range(times):
        anew = replace(data)  # of the same rows some parts would not be made again
        started = time.process_time()
        method.fit(anew)
        spent.append(1000 * (time.process_time() - started))
    return min(spent)


def main() -> None:
    """Print a line per trainer."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=2400)
    options.add_argument("trainers", nargs="*")
    asked = options.parse_args()
    few, many = made_up(asked.rows), made_up(10 * asked.rows)
    print(f"{'trainer':34} {len(few):>8} rows {len(many):>8} rows  ratio")
    for name in asked.trainers or house_trainers():
        short, long = milliseconds(trainer(name), few, 5), milliseconds(trainer(name), many, 3)
        print(f"{name:34} {short:10.1f} ms {long:10.1f} ms {long / short:6.1f}", flush=True)


if __name__ == "__main__":
    main()
