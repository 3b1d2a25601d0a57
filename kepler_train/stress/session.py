"""A stress run of this machine from its loads to its schedule, the same for the command and for the step of a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import Signals

from kepler_train.errors import DataError, UserError
from kepler_train.events import say, warn
from kepler_train.machine.spec import this_machine
from kepler_train.samples.schedule import IDLE, Schedule
from kepler_train.stress.frequency import Cpufreq, NoSweep
from kepler_train.stress.loads import Load, check_programs, lacking
from kepler_train.stress.plan import Plan, instance_counts, make_plan
from kepler_train.stress.remembered import STATE_FOLDER
from kepler_train.stress.runner import StressRun
from kepler_train.stress.stopping import Stopping, alone

SYSFS = Path("/sys")
SYSFS_VARIABLE, STATE_VARIABLE = "KEPLER_TRAIN_SYSFS", "KEPLER_TRAIN_STRESS_STATE"


class Session:
    """This machine: sysfs is below `sysfs`, and in `state` its CPU frequencies are kept while they are changed."""

    def __init__(self, sysfs: Path | None = None, state: Path | None = None) -> None:
        self._sysfs = sysfs or Path(os.environ.get(SYSFS_VARIABLE) or SYSFS)
        self._cpufreq = Cpufreq(self._sysfs, state or Path(os.environ.get(STATE_VARIABLE) or STATE_FOLDER))
        self._notes: list[str] = []

    def plan(
        self,
        loads: Sequence[Load],
        *,
        timeout: int,
        idle: int,
        break_seconds: float,
        sweep: bool,
        counts: Sequence[int] = (),
    ) -> Plan:
        """The phases of these loads on this machine; a sweep that cannot be is left out, and the schedule says so."""
        frequencies: list[int] = []
        if sweep:
            try:
                frequencies = self._cpufreq.sweep()
            except NoSweep as why:
                warn(str(why))
                self._notes.append(str(why))
        counts = counts or instance_counts(len(os.sched_getaffinity(0)))
        return make_plan(loads, counts, frequencies, timeout=timeout, idle=idle, break_seconds=break_seconds)

    def run(
        self, plan: Plan, write: Callable[[Schedule], None], machine_id: str = "", node: str = ""
    ) -> tuple[Schedule, Signals | None]:
        """Run a plan; `write` is given the schedule after every phase. What happened, and the signal that ended it."""
        loads = list(dict.fromkeys(phase.load for phase in plan.phases))
        check_programs(loads)
        about = Schedule(machine_id=machine_id, machine=this_machine(), notes=self._notes)
        with alone(self._sysfs) as lock, Stopping() as stop:
            self._put_back()
            run = StressRun(plan, self._cpufreq, about, write, lacking=lacking(loads), node=node)
            return run.run(stop, lock), stop.signal

    def restore(self) -> None:
        """Put back the CPU frequencies that a killed run left, and do nothing else."""
        with alone(self._sysfs):
            if not self._put_back():
                say("There is nothing to put back: no CPU frequency is held.")

    def _put_back(self) -> bool:
        """Whether there was something to put back."""
        if not self._cpufreq.held:
            return False
        left = self._cpufreq.put_back()
        if left:
            raise UserError(left)
        say("Put back the CPU frequencies that a killed run had left.")
        return True


def outcome(schedule: Schedule) -> dict[str, int]:
    """How many phases were done, failed, missing or stopped."""
    return dict(Counter(phase.status for phase in schedule.phases))


def check_loaded(schedule: Schedule, where: object) -> None:
    """Refuse a schedule in which not one of its loads ran; `where` says why for every phase."""
    ran = any(phase.load != IDLE for phase in schedule.labelled())
    if not ran and any(phase.load != IDLE for phase in schedule.phases):
        raise DataError(f"No load could run on this machine: {where} says why for every phase.")
