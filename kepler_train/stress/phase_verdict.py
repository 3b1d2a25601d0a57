"""The verdict on a phase whose load has ended: whether it is a workload, and how much work was done."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kepler_train.samples.schedule import Status
from kepler_train.stress.programs import Outcome, Program

_NOT_IMPLEMENTED = 4
"""stress-ng's exit code for a stressor that this machine cannot run."""
_CLOCK_SECONDS = 1.0
"""More than this between the two clocks, and the times of the phase are not those of Prometheus's samples."""

_FAILED = re.compile(r"^stress-ng: (fail|error|unrecognized|invalid)|invalid")
_SKIPPED = re.compile(r"skipp|not supported|not implemented")


@dataclass(frozen=True)
class PhaseVerdict:
    """The status of a phase, the reason for it, and the work done."""

    status: Status = "done"
    reason: str = ""
    exit_code: int | None = None
    bogo_ops: int | None = None


def judge_clock(started: float, ended: float, elapsed: float) -> PhaseVerdict | None:
    """Return a verdict when the clock was set during the phase; else None."""
    if abs(ended - started - elapsed) <= _CLOCK_SECONDS:
        return None
    return PhaseVerdict("failed", "The clock of the machine was set during the phase, so its times are wrong.")


def judge_stress(load: str, outcome: Outcome, programs: Sequence[Program], metrics: Sequence[Path]) -> PhaseVerdict:
    """Judge the instances of a stressor: one failure fails the phase; a stressor that none could run is missing.

    With --aggressive stress-ng ends with exit code 0 also when its stressor failed, so its output is judged too.
    """
    work = [_bogo_ops(file, load) for file in metrics]
    counted = [amount for amount in work if amount is not None]
    bogo_ops = sum(counted) if counted else None
    for result, amount, program in zip(outcome.results, work, programs, strict=True):
        if result.cut_short or (result.exit_code == 0 and amount is not None):
            continue
        lines = _output(program)
        failed = any(_FAILED.search(line) for line in lines)
        if result.exit_code not in (0, _NOT_IMPLEMENTED) or failed or counted:
            reason = f"stress-ng ended with exit code {result.exit_code}: {_reason(lines, _FAILED)}."
            return PhaseVerdict("failed", reason, result.exit_code, bogo_ops)
        return PhaseVerdict("missing", f"stress-ng did not run it: {_reason(lines, _SKIPPED)}.", result.exit_code)
    for result in outcome.results:
        if result.cut_short:  # memory loads are known for it; the load was there, so the phase is what its label says
            return PhaseVerdict(
                "done", "stress-ng did not end at its timeout and was ended.", result.exit_code, bogo_ops
            )
    return PhaseVerdict(exit_code=0, bogo_ops=bogo_ops)


def judge_command(outcome: Outcome) -> PhaseVerdict:
    """Judge a command: it must run until its end or until its time is over."""
    result = outcome.results[0]
    if result.cut_short or result.exit_code == 0:
        return PhaseVerdict(exit_code=result.exit_code)
    return PhaseVerdict("failed", f"The command ended with exit code {result.exit_code}.", result.exit_code)


def judge_job(outcome: Outcome, program: Program) -> tuple[Outcome, PhaseVerdict]:
    """Judge a Job; return the outcome with the times of its pods, and the verdict."""
    result = outcome.results[0]
    times = [line for line in _output(program) if line.startswith("{")]
    if times:
        outcome = replace(outcome, **json.loads(times[-1]))
    if times and result.exit_code == 0:
        return outcome, PhaseVerdict(exit_code=0)
    messages = [line for line in _output(program) if not line.startswith("{")]
    reason = messages[-1] if messages else f"The Job ended with exit code {result.exit_code}."
    return outcome, PhaseVerdict("failed", reason, result.exit_code)


def _bogo_ops(file: Path, load: str) -> int | None:
    """Return the work of a stressor in the file of `stress-ng --yaml`; None when it has none."""
    text = file.read_text(errors="replace") if file.is_file() else ""
    work = re.search(rf"- stressor: {re.escape(load)}\n\s+bogo-ops: (\d+)\n", text)
    return int(work[1]) if work else None


def _output(program: Program) -> list[str]:
    """Return the lines that a program wrote."""
    if program.output is None or not program.output.is_file():
        return []
    return [line.strip() for line in program.output.read_text(errors="replace").splitlines() if line.strip()]


def _reason(lines: Sequence[str], sign: re.Pattern[str]) -> str:
    """Return the line with the reason, without stress-ng's mark as in `stress-ng: fail:  [4711] …`."""
    line = next((line for line in lines if sign.search(line)), lines[-1] if lines else "it says nothing")
    return re.sub(r"^stress-ng: (\w+: +\[\d+\] )?", "", line).rstrip(".")
