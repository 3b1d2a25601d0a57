"""The long run: `python -m fuzz`, with the folder of the tests on the path; `make fuzz` calls it."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from fuzz.case import FAULTY, SHARES, Source, stored_cases
from fuzz.report import Tally, keep_failure, table
from fuzz.runner import Limits, make_seeds, run_cases

_CASES = 110_000


def main() -> int:
    """Run the stored cases and new ones; return 1 where one of them failed."""
    options = _options()
    tallies = []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        for kind in options.kind or list(SHARES):
            tally = _run(kind, options, Path(scratch))
            tallies.append(tally)
            print(tally.line(), flush=True)
            for line in tally.failure_lines():
                print(f"  {line}", flush=True)
    print(f"\n{table(tallies)}")
    return int(any(tally.failures for tally in tallies))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--kind", action="append", choices=[*SHARES, FAULTY], help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices")
    parser.add_argument("--cases", type=int, default=_CASES, help="of all kinds together, beside the stored ones")
    parser.add_argument("--number", type=int, action="append", help="only this case, and all that is known of it")
    parser.add_argument("--seconds", type=float, default=20.0, help="CPU time that a case may take")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="children at a time")
    parser.add_argument("--keep", type=Path, default=Path(".fuzz"), help="folder for cases that fail")
    return parser.parse_args()


def _run(kind: str, options: argparse.Namespace, scratch: Path) -> Tally:
    folder = scratch / "seeds" / kind
    source = Source(kind, make_seeds(kind, folder), stored_cases(kind), options.seed)
    tally = Tally(kind, options.seed, source.command)
    numbers = options.number or [*source.stored_numbers(), *range(_share(kind, options))]
    began = time.monotonic()
    limits = Limits(seconds=options.seconds, workers=options.workers)
    for outcome in run_cases(kind, source, numbers, folder, scratch / "work", limits):
        tally.add(outcome)
        if options.number:
            print(f"{outcome.result}, {outcome.seconds:.2f} s, {outcome.peak} MiB: {outcome.detail}")
        if outcome.failed:
            keep_failure(options.keep, tally, outcome, source(outcome.number))
    tally.seconds = time.monotonic() - began
    return tally


def _share(kind: str, options: argparse.Namespace) -> int:
    chosen = options.kind or list(SHARES)
    return max(options.cases * SHARES.get(kind, 1) // sum(SHARES.get(name, 1) for name in chosen), 1)


if __name__ == "__main__":
    sys.exit(main())
