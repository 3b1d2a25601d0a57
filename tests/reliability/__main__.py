"""Kill steps and commands, let two publish at once, and let S3 fail; print what went wrong as Markdown tables.

    make reliability [SEED=7] [ONLY=kills,publishers,faults]
    PYTHONPATH=tests python tests/reliability --only kills,publishers --steps export,publish --runs 10 --kills 5

Exit code 1 when anything went wrong. The same seed tries the same things; what a kill after so many seconds hits is up
to the machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable

import faults
import killed_commands
import killed_steps
import publishers
from counts import Row, progress, table
from lab import Lab, lab

PARTS = ["kills", "publishers", "faults"]


def main() -> int:
    """Do the parts that are asked for; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    options.add_argument("--runs", type=int, default=6, help="kills: runs on a folder, and as many on S3")
    options.add_argument(
        "--kills", type=int, default=3, help="kills: of each step of a run; of a command twice as many"
    )
    options.add_argument("--steps", default="", help="kills: only of these steps, and of no commands: export,publish")
    options.add_argument("--pairs", type=int, default=40, help="publishers: on a folder, and as many on S3")
    options.add_argument("--rounds", type=int, default=2, help="faults: how often each strikes every step")
    asked = options.parse_args()
    began, bad = time.monotonic(), 0
    with lab() as there:
        parts = _parts(there, asked)
        for part in asked.only.split(","):
            rows, text = parts[part]()
            bad += sum(len(row.problems) for row in rows)
            print(f"\n{text}", flush=True)
    minutes = (time.monotonic() - began) / 60
    cores = len(os.sched_getaffinity(0))
    print(f"\nSeed {asked.seed}, {cores} cores, Linux {platform.release()}, {minutes:.0f} minutes: {bad} problems.")
    return 1 if bad else 0


def _parts(there: Lab, asked: argparse.Namespace) -> dict[str, Callable[[], tuple[list[Row], str]]]:
    def kills() -> tuple[list[Row], str]:
        steps = asked.steps.split(",") if asked.steps else []
        rows = killed_steps.killed_steps(there, asked.seed, asked.runs, asked.kills, steps)
        if not steps:
            rows += killed_commands.killed_commands(there, asked.seed, 2 * asked.kills)
        return rows, table(rows, "kills", killed_steps.MOMENTS, killed_steps.PROBLEMS)

    def pairs() -> tuple[list[Row], str]:
        rows = publishers.publishers(there, asked.seed, asked.pairs)
        return rows, table(rows, "pairs", publishers.LOOKS, publishers.PROBLEMS)

    def struck() -> tuple[list[Row], str]:
        rows = faults.faults(there, asked.seed, asked.rounds)
        return rows, table(rows, "faults", faults.ENDS, faults.PROBLEMS)

    return dict(zip(PARTS, (kills, pairs, struck), strict=True))


if __name__ == "__main__":
    progress("starting the servers")
    sys.exit(main())
