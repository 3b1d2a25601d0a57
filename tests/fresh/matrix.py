"""Run the cases one after the other, each in a fresh clone on a private machine, and print a table."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cases import SYSTEM_PATH, Case, all_cases
from machine import USER, Machine, NoMachine

_CHECKOUT = Path(__file__).resolve().parents[2]
_KEPT = re.compile(r"(PIP|UV|SSL|REQUESTS|CURL)_.*|.*_proxy|PYTHON", re.IGNORECASE)
"""Variables by which this machine reaches its package index, and the Python it is told to use."""
_NOTHING_OUTSIDE = "! ls -A /var/lib/kepler-train 2>/dev/null | grep -vx lock"
_STAYS = ("pytest-of-", "seaweedfs-", ".ses", "kepler-train-fresh-")
"""Temporary files that pytest keeps for a while, that the next S3 server removes, onnxruntime's, and our own."""
_STACK_LOGS = "tail -n 30 .kepler-train/logs/*.log 2>/dev/null"


@dataclass
class Outcome:
    """What became of a case."""

    case: Case
    result: str
    demo: float | None = None
    tests: float | None = None

    def row(self) -> tuple[str, ...]:
        """Return its cells in the table."""
        seconds = ("" if value is None else f"{value:.0f}" for value in (self.demo, self.tests))
        return (self.case.name, self.case.what, self.result, *seconds)


class Failed(Exception):
    """A case did not pass; the text says where."""


def main(names: list[str]) -> int:
    """Run the named cases, or all; return 1 when one of them fails."""
    cases = {case.name: case for case in all_cases()}
    if unknown := [name for name in names if name not in cases]:
        print(f"There is no case {unknown[0]}: choose from {', '.join(cases)}.", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    base = Path(tempfile.mkdtemp(prefix="kepler-train-fresh-"))
    base.chmod(0o755)
    outcomes: list[Outcome] = []
    try:
        for name in names or cases:
            outcomes.append(_try(cases[name], base))
    except KeyboardInterrupt:
        print("Interrupted; everything was ended and removed.")
    with suppress(OSError):  # logs of failed cases stay
        base.rmdir()
    _print_table(outcomes)
    complete = len(outcomes) == len(names or cases)
    return 0 if complete and not any(outcome.result == "FAILED" for outcome in outcomes) else 1


def _try(case: Case, base: Path) -> Outcome:
    """Run one case and remove everything of it but the log of a failure."""
    if obstacle := case.obstacle():
        return Outcome(case, f"skipped: {obstacle}")
    print(f"{case.name}: {case.what} ...", flush=True)
    outcome = Outcome(case, "passed")
    folder, log = base / case.name, base / f"{case.name}.log"
    folder.mkdir()
    try:
        with log.open("w") as words, Machine(folder, words) as machine:
            _run(outcome, machine, folder)
    except NoMachine as reason:
        outcome.result = f"skipped: {reason}"
    except Failed as reason:
        outcome.result = "FAILED"
        print(f"{case.name}: {reason}\n{case.name}: the log is {log}")
    finally:
        shutil.rmtree(folder)
        if outcome.result != "FAILED":
            log.unlink()
    print(f"{case.name}: {outcome.result}", flush=True)
    return outcome


def _run(outcome: Outcome, machine: Machine, folder: Path) -> None:
    """Clone, demo, tests, clean; raise Failed when one of them fails or something is left afterwards."""
    case = outcome.case
    environment = _environment(case, folder)
    clone = _clone(case, folder)

    def run(script: str, where: Path = clone, as_user: bool = case.as_user, network: str = "") -> float:
        started = time.monotonic()
        masked = f"umask {case.umask:03o}\n{script}"
        if code := machine.run(masked, where, environment, as_user=as_user, network=network):
            failed = Failed(f"`{script.strip().splitlines()[0]}` ended with exit code {code}:\n{machine.last_words()}")
            machine.run(_STACK_LOGS, clone, environment)
            raise failed
        return time.monotonic() - started

    if case.change:
        run(f"set -e\n{case.change}", folder, as_user=False)
    if case.as_user:
        run(f"chown -R {USER}: .", as_user=False)
    installed = run(case.before) if case.before else 0.0
    outcome.demo = installed + run(case.demo, network=case.network)
    if case.tests:
        outcome.tests = run(case.tests, network=case.network)
    run("make clean")
    if left := [*machine.processes(), *_left(folder)]:
        raise Failed(f"after `make clean` there is still {', '.join(left)}")
    run(_NOTHING_OUTSIDE)


def _environment(case: Case, folder: Path) -> dict[str, str]:
    """Return what a new login has, what the network needs here, and what the case adds."""
    home = folder / USER if case.as_user else Path.home()
    fresh = {"PATH": SYSTEM_PATH, "HOME": str(home), "DEMO_EXIT": "1"}
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)}
    added = {name: value.replace("{}", str(folder)) for name, value in case.environment.items()}
    return {name: value for name, value in {**kept, **fresh, **added}.items() if name not in case.unset}


def _clone(case: Case, folder: Path) -> Path:
    """Clone the checkout's HEAD to where the case wants it, with its files beside it."""
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    clone = folder / case.clone
    clone.parent.mkdir(mode=0o700 if case.closed else 0o755, exist_ok=True)
    # Not local: hard links would share their owner with the checkout's files.
    command = ["git", "clone", "--quiet", "--no-local", "--depth=1", str(_CHECKOUT), str(clone)]
    subprocess.run(command, check=True, umask=case.umask)
    return clone


def _left(folder: Path) -> Iterator[str]:
    """Yield temporary files that nobody removed."""
    for path in (folder / "tmp").iterdir():
        if not path.name.startswith(_STAYS):
            yield str(path)


def _print_table(outcomes: list[Outcome]) -> None:
    rows = [("case", "what it is", "result", "demo s", "tests s"), *(outcome.row() for outcome in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    print()
    for row in rows:
        cells = [
            cell.ljust(width) if n < 3 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
