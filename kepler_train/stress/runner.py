"""Run a plan: every phase is recorded as soon as it is over, and the machine is left as it was found."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from kepler_train.errors import UserError
from kepler_train.events import say, warn
from kepler_train.samples.schedule import Phase, Schedule
from kepler_train.scratch import ScratchFolder
from kepler_train.stress import job
from kepler_train.stress.frequency import Cpufreq, NoSweep
from kepler_train.stress.loads import KUBECTL, STRESS_NG, Load
from kepler_train.stress.phase_verdict import PhaseVerdict, judge_clock, judge_command, judge_job, judge_stress
from kepler_train.stress.plan import PlannedPhase, StressPlan, format_duration
from kepler_train.stress.programs import Outcome, Program, run_programs
from kepler_train.stress.stop_signals import StopSignals

_LATE_SECONDS = 30.0
"""What stress-ng may need beyond its timeout on a machine that it keeps busy."""
_GRACE_SECONDS = 2.0
"""What a program gets to end in good order before it is killed."""


class StressRun:
    """A plan on this machine. `about` is the schedule without phases; `write` gets the schedule after every phase."""

    def __init__(
        self,
        plan: StressPlan,
        cpufreq: Cpufreq,
        about: Schedule,
        write: Callable[[Schedule], None],
        *,
        unavailable: Mapping[Load, str],
        node: str = "",
    ) -> None:
        self._plan, self._cpufreq, self._about, self._write, self._node = plan, cpufreq, about, write, node
        self._unavailable = dict(unavailable)
        self._phases: list[Phase] = []
        self._notes = list(about.notes)
        self._no_sweep = ""
        self._seen: list[float] = []

    @property
    def schedule(self) -> Schedule:
        """Return the schedule with the phases so far."""
        return self._about.model_copy(update={"phases": list(self._phases), "notes": list(self._notes)})

    def run(self, stop: StopSignals, lock: int) -> Schedule:
        """Run the phases until the end or a stop signal, restore CPU frequencies, and return the schedule."""
        for load, reason in self._unavailable.items():
            warn(f"The load {load.name} is left out: {reason}")
        try:
            for number, planned in enumerate(self._plan.phases):
                self._announce(number, planned)
                self._record(self._phase(planned, stop, lock))
                if number + 1 < len(self._plan.phases) and self._phases[-1].end > self._phases[-1].start:
                    stop.wait(self._plan.break_seconds)
                if stop.signal:
                    self._note(f"{stop.signal.name} ended the run in phase {number + 1} of {len(self._plan.phases)}.")
                    break
        finally:
            left = self._cpufreq.put_back()
            if left:
                self._note(left)
        self._write(self.schedule)
        return self.schedule

    def _announce(self, number: int, planned: PlannedPhase) -> None:
        if planned.load in self._unavailable:
            return
        parts = [planned.load.name]
        if planned.instances:
            parts.append(f"{planned.instances} instance{'s' if planned.instances > 1 else ''}")
        if planned.frequency_mhz:
            parts.append(f"{planned.frequency_mhz} MHz")
        left = self._plan.seconds_from(number, self._unavailable)
        say(
            f"{number + 1} of {len(self._plan.phases)}: {', '.join(parts)}, {planned.seconds} s;"
            f" {format_duration(left)} left",
            phase=number + 1,
            phases=len(self._plan.phases),
            load=planned.load.name,
            instances=planned.instances,
            frequency_mhz=planned.frequency_mhz,
            seconds_left=left,
        )

    def _record(self, phase: Phase) -> None:
        self._phases.append(phase)
        if phase.reason and phase.status in ("done", "failed"):  # the others are reported once for all phases
            warn(f"The phase {phase.name} {phase.status}: {phase.reason}", exit_code=phase.exit_code)
        try:
            self._write(self.schedule)
        except UserError as error:  # a full disk may have room again after the next phase
            warn(f"{error} What was measured is kept for the next try.")

    def _note(self, sentence: str) -> None:
        warn(sentence)
        self._notes.append(sentence)

    def _phase(self, planned: PlannedPhase, stop: StopSignals, lock: int) -> Phase:
        now = time.time()
        never_ran = Outcome(now, now, 0, [])
        if planned.load in self._unavailable:
            return self._record_of(planned, never_ran, PhaseVerdict("missing", self._unavailable[planned.load]))
        if not self._set_frequency(planned.frequency_mhz):
            return self._record_of(planned, never_ran, PhaseVerdict("failed", self._no_sweep))
        self._seen = []
        if planned.load.kind == "idle":
            outcome, verdict = self._idle(planned, stop)
        else:
            with ScratchFolder() as folder:
                outcome, verdict = self._run_load(planned, folder, stop, lock)
        verdict = judge_clock(outcome.started, outcome.ended, outcome.elapsed) or verdict
        if stop.signal:
            verdict = PhaseVerdict("stopped", f"{stop.signal.name} ended it.", verdict.exit_code, verdict.bogo_ops)
        if verdict.status == "missing":
            self._unavailable[planned.load] = verdict.reason  # it will not be there next time either
            warn(f"The load {planned.load.name} is left out: {verdict.reason}")
        return self._record_of(planned, outcome, verdict)

    def _set_frequency(self, mhz: int | None) -> bool:
        """Set the frequency of a phase, None for that before the run; return whether that worked."""
        if mhz is None:
            if self._cpufreq.held and (left := self._cpufreq.put_back()):
                self._note(left)
            return True
        if not self._no_sweep:
            try:
                self._cpufreq.hold(mhz)
            except NoSweep as why:
                self._no_sweep = str(why)
                self._note(self._no_sweep)
        return not self._no_sweep

    def _sample_frequency(self) -> None:
        seen = self._cpufreq.seen_mhz()
        if seen is not None:
            self._seen.append(seen)

    def _idle(self, planned: PlannedPhase, stop: StopSignals) -> tuple[Outcome, PhaseVerdict]:
        started, clock = time.time(), time.monotonic()
        pause = _sampling_seconds(planned)
        while not stop.signal and (left := planned.seconds - (time.monotonic() - clock)) > 0:
            stop.wait(min(left, pause))
            self._sample_frequency()
        return Outcome(started, time.time(), time.monotonic() - clock, []), PhaseVerdict()

    def _run_load(
        self, planned: PlannedPhase, folder: Path, stop: StopSignals, lock: int
    ) -> tuple[Outcome, PhaseVerdict]:
        programs, metrics = _programs(planned, folder)
        longest = planned.seconds + {"stress-ng": _LATE_SECONDS, "job": job.START_SECONDS + 2 * job.END_SECONDS}.get(
            planned.load.kind, 0
        )
        started, clock = time.time(), time.monotonic()
        outcome = run_programs(
            programs,
            folder,
            seconds=longest,
            grace=job.END_SECONDS if planned.load.kind == "job" else _GRACE_SECONDS,
            stop=stop,
            lock=lock,
            watch=self._sample_frequency,
            every=_sampling_seconds(planned),
        )
        if outcome is None:
            verdict = PhaseVerdict("failed", "The process that watches over the load was killed, and the load with it.")
            return Outcome(started, time.time(), time.monotonic() - clock, []), verdict
        if planned.load.kind == "job":
            return judge_job(outcome, programs[0])
        if planned.load.kind == "command":
            return outcome, judge_command(outcome)
        return outcome, judge_stress(planned.load.name, outcome, programs, metrics)

    def _record_of(self, planned: PlannedPhase, outcome: Outcome, verdict: PhaseVerdict) -> Phase:
        start = datetime.fromtimestamp(outcome.started, UTC)
        return Phase(
            name=planned.name,
            load=planned.load.name,
            instances=planned.instances,
            frequency_mhz=planned.frequency_mhz,
            frequency_seen_mhz=round(fmean(self._seen), 1) if self._seen and outcome.elapsed else None,
            node=self._node,
            start=start,
            end=max(datetime.fromtimestamp(outcome.ended, UTC), start),  # the clock may have been set back
            status=verdict.status,
            reason=verdict.reason,
            exit_code=verdict.exit_code,
            bogo_ops=verdict.bogo_ops,
            command=_command(planned),
        )


def _sampling_seconds(planned: PlannedPhase) -> float:
    """Return how often to sample the frequency (s): ten times in a phase, but never so often that it is a load."""
    return max(1.0, planned.seconds / 10)


def _command(planned: PlannedPhase) -> list[str]:
    """Return the command of a phase, without the options of single instances."""
    load = planned.load
    if load.kind == "stress-ng":
        fixed = [f"--{load.name}", "1", "--timeout", str(planned.seconds), "--aggressive", "--metrics-brief"]
        return [STRESS_NG, *fixed, *load.arguments]
    if load.kind == "job":
        return [KUBECTL, "create", "-f", *load.arguments]
    return list(load.arguments)


def _programs(planned: PlannedPhase, folder: Path) -> tuple[list[Program], list[Path]]:
    """Return the programs to start, and the files where stress-ng will write its figures."""
    if planned.load.kind == "command":
        return [Program(planned.load.arguments)], []
    if planned.load.kind == "job":
        command = (sys.executable, "-I", "-S", job.__file__, *planned.load.arguments, str(planned.seconds))
        return [Program(command, folder / "job.log")], []
    programs, metrics = [], []
    cpus = sorted(os.sched_getaffinity(0))
    first, *rest = _command(planned)
    for number in range(planned.instances):
        metrics.append(folder / f"{number}.yaml")
        of_instance = [
            "--taskset",
            str(cpus[number % len(cpus)]),
            "--yaml",
            str(metrics[-1]),
            "--temp-path",
            str(folder),
        ]
        programs.append(Program((first, *of_instance, *rest), folder / f"{number}.log"))
    return programs, metrics
