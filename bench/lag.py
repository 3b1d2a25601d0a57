"""How often a lag between energy and work is found, and how well, when power follows work in a bent curve.

Power is 20 W + 80 W · load^p, with 1 W of noise a second, scraped every 5 s for an hour. Loads of 40 to 160 s: steps
(to any level), saw (come slowly, go at once), decay (come at once, go slowly), ramps and random walks. A cell is how
many lags of six were found, and their mean; lags are in scrapes.

python bench/lag.py [LAG...]
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from kepler_train.extract.meter_lag import MeterLag, estimate_lag

SHAPES, EXPONENTS, SEEDS = ("steps", "saw", "decay", "ramps", "walk"), (0.3, 0.5, 1.0, 2.0, 3.0, 4.0), 6
SCRAPES, EVERY, SPARE = 700, 5.0, 200  # s; the load is made second by second
Floats = npt.NDArray[np.float64]


def load(shape: str, chance: np.random.Generator) -> Floats:
    """The load of every second, 0 to 1."""
    pieces: list[Floats] = []
    before = 0.5
    while sum(len(piece) for piece in pieces) < SCRAPES * EVERY + SPARE:
        along, level = np.linspace(0, 1, int(chance.uniform(40, 160))), chance.uniform(0, 1)
        pieces.append(
            {
                "steps": np.full(len(along), level),
                "saw": 0.05 + 0.9 * along,
                "decay": 0.05 + 0.9 * np.exp(-4 * along),
                "ramps": before + (level - before) * along,
                "walk": np.clip(before + np.cumsum(chance.normal(0, 0.03, len(along))), 0, 1),
            }[shape]
        )
        before = float(pieces[-1][-1])
    every = np.concatenate(pieces)
    return np.clip(every + chance.normal(0, 0.02, len(every)), 0, 1)


def found(shape: str, exponent: float, lag: float, seed: int) -> MeterLag:
    """What is found in one recording."""
    chance = np.random.default_rng(seed)
    busy = load(shape, chance)
    seconds = np.arange(len(busy) + 1.0)
    energy, work, more = (
        np.concatenate([[0.0], np.cumsum(rate)])
        for rate in (
            20 + 80 * busy**exponent + chance.normal(0, 1, len(busy)),
            busy,
            busy * np.clip(chance.normal(1, 0.1, len(busy)), 0, None),
        )
    )
    times = SPARE / 2 + EVERY * np.arange(SCRAPES, dtype=np.float64)
    read = times - lag * EVERY
    counted = [np.interp(read, seconds, counter) for counter in (work, more)]
    return estimate_lag(times, [np.interp(times, seconds, energy)], counted)


def main() -> None:
    """A table for every lag."""
    for lag in [float(word) for word in sys.argv[1:]] or [0.0, 0.4, -0.4]:
        print(f"lag {lag:+.2f}" + "".join(f"{f'p = {exponent:g}':>13}" for exponent in EXPONENTS))
        total = 0
        for shape in SHAPES:
            cells = []
            for exponent in EXPONENTS:
                every = (found(shape, exponent, lag, seed) for seed in range(SEEDS))
                sure = [one.seconds / EVERY for one in every if one.significant]
                total += len(sure)
                cells.append(f"{len(sure)} {np.mean(sure):+.2f}" if sure else "0     –")
            print(f"{shape:<9}" + "".join(f"{cell:>13}" for cell in cells))
        print(f"{total} of {len(SHAPES) * len(EXPONENTS) * SEEDS}\n")


if __name__ == "__main__":
    main()
