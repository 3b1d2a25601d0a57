"""What a load that has ended says of itself: whether the phase is a workload, and how much work was done."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kepler_train.samples.schedule import Status
from kepler_train.stress.workload import Outcome, Program

_NOT_IMPLEMENTED = 4
"""stress-ng's exit code for a stressor that this machine cannot run."""
_CLOCK_SECONDS = 1.0
"""More than this between the two clocks, and the times of the phase are not those of Prometheus's samples."""

_FAILED = re.compile(r"^stress-ng: (fail|error|unrecognized|invalid)|invalid")
_SKIPPED = re.compile(r"skipp|not supported|not implemented")


@dataclass(frozen=True)
class Verdict:
    """How a phase went."""

    status: Status = "done"
    reason: str = ""
    exit_code: int | None = None
    bogo_ops: int | None = None


def judge_clock(started: float, ended: float, elapsed: float) -> Verdict | None:
    """Nothing, unless the clock was set during the phase."""
    if abs(ended - started - elapsed) <= _CLOCK_SECONDS:
        return None
    return Verdict("failed", "The clock of the machine was set during the phase, so its times are wrong.")


def judge_stress(load: str, outcome: Outcome, programs: Sequence[Program], metrics: Sequence[Path]) -> Verdict:
    """Of the instances of a stressor: one that fails fails the phase; one that no instance could run is missing.

    With --aggressive stress-ng ends with exit code 0 also when its stressor failed: what it wrote has to be asked too.
    """
    work = [_bogo_ops(file, load) for file in metrics]
    counted = [amount for amount in work if amount is not None]
    bogo_ops = sum(counted) if counted else None
    for result, amount, program in zip(outcome.results, work, programs, strict=True):
        if result.cut_short or (result.exit_code == 0 and amount is not None):
            continue
        words = _words(program)
        failed = any(_FAILED.search(line) for line in words)
        if result.exit_code not in (0, _NOT_IMPLEMENTED) or failed or counted:
            reason = f"stress-ng ended with exit code {result.exit_code}: {_telling(words, _FAILED)}."
            return Verdict("failed", reason, result.exit_code, bogo_ops)
        return Verdict("missing", f"stress-ng did not run it: {_telling(words, _SKIPPED)}.", result.exit_code)
    for result in outcome.results:
        if result.cut_short:  # memory loads are known for it; the load was there, so the phase is what its label says
            return Verdict("done", "stress-ng did not end at its timeout and was ended.", result.exit_code, bogo_ops)
    return Verdict(exit_code=0, bogo_ops=bogo_ops)


def judge_command(outcome: Outcome) -> Verdict:
    """Of a command: it ran until its end or its time was over."""
    result = outcome.results[0]
    if result.cut_short or result.exit_code == 0:
        return Verdict(exit_code=result.exit_code)
    return Verdict("failed", f"The command ended with exit code {result.exit_code}.", result.exit_code)


def judge_job(outcome: Outcome, program: Program) -> tuple[Outcome, Verdict]:
    """Of a Job, with the times of its pods."""
    result = outcome.results[0]
    times = [line for line in _words(program) if line.startswith("{")]
    if times:
        outcome = replace(outcome, **json.loads(times[-1]))
    if times and result.exit_code == 0:
        return outcome, Verdict(exit_code=0)
    said = [line for line in _words(program) if not line.startswith("{")]
    reason = said[-1] if said else f"The Job ended with exit code {result.exit_code}."
    return outcome, Verdict("failed", reason, result.exit_code)


def _bogo_ops(file: Path, load: str) -> int | None:
    """The work of a stressor in what `stress-ng --yaml` wrote; None when it has none."""
    text = file.read_text(errors="replace") if file.is_file() else ""
    found = re.search(rf"- stressor: {re.escape(load)}\n\s+bogo-ops: (\d+)\n", text)
    return int(found[1]) if found else None


def _words(program: Program) -> list[str]:
    """The lines that a program wrote."""
    if program.output is None or not program.output.is_file():
        return []
    return [line.strip() for line in program.output.read_text(errors="replace").splitlines() if line.strip()]


def _telling(words: Sequence[str], sign: re.Pattern[str]) -> str:
    """The line that says why, without stress-ng's mark as in `stress-ng: fail:  [4711] …`."""
    line = next((line for line in words if sign.search(line)), words[-1] if words else "it says nothing")
    return re.sub(r"^stress-ng: (\w+: +\[\d+\] )?", "", line).rstrip(".")
