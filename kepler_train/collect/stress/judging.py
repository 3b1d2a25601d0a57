"""What a load that has ended says of itself: whether the phase is a workload, and how much work was done."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kepler_train.collect.schedule import Status
from kepler_train.collect.stress.workload import Outcome, Program

_NOT_IMPLEMENTED = 4
"""stress-ng's exit code for a stressor that this machine cannot run."""
_CLOCK_SECONDS = 1.0
"""More than this between the two clocks, and the times of the phase are not those of Prometheus's samples."""


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
    """Of the instances of a stressor: one that fails fails the phase, one that none of them ran is missing."""
    words = [_words(program) for program in programs]
    work = [_bogo_ops(file, load) for file in metrics]
    done = Verdict(exit_code=0, bogo_ops=sum(one for one in work if one is not None))
    if all(one is None for one in work):
        done = replace(done, bogo_ops=None)
    for result, said in zip(outcome.results, words, strict=True):
        if result.cut_short:
            return replace(
                done, status="failed", reason="stress-ng did not end at its timeout.", exit_code=result.exit_code
            )
        if result.exit_code:
            status: Status = "missing" if result.exit_code == _NOT_IMPLEMENTED else "failed"
            why = _telling(said, "fail", "error", "unrecognized", "invalid")
            reason = f"stress-ng ended with exit code {result.exit_code}: {why}."
            return replace(done, status=status, reason=reason, exit_code=result.exit_code)
    for amount, said in zip(work, words, strict=True):
        if amount is None:  # it says that it succeeded, but did nothing
            status = "missing" if done.bogo_ops is None else "failed"
            reason = f"stress-ng did not run it: {_telling(said, 'skipp', 'not supported', 'not implemented')}."
            return replace(done, status=status, reason=reason)
    return done


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
    """The lines that a program wrote, without the marks of stress-ng in front."""
    if program.output is None or not program.output.is_file():
        return []
    lines = program.output.read_text(errors="replace").splitlines()
    return [re.sub(r"^stress-ng: (\w+: +\[\d+\] )?", r"", line).strip() for line in lines if line.strip()]


def _telling(words: Sequence[str], *signs: str) -> str:
    """The line that says why: the first with one of the signs, else the last."""
    for line in words:
        if any(sign in line for sign in signs):
            return line.rstrip(".")
    return words[-1].rstrip(".") if words else "it says nothing"
