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
from kepler_train.stress.loads import Load, check_programs, unavailable_loads
from kepler_train.stress.machine_lock import machine_lock
from kepler_train.stress.plan import StressPlan, instance_counts, plan_phases
from kepler_train.stress.runner import StressRun
from kepler_train.stress.saved_limits import STATE_FOLDER
from kepler_train.stress.stop_signals import StopSignals

SYSFS = Path("/sys")
SYSFS_VARIABLE, STATE_VARIABLE = "KEPLER_TRAIN_SYSFS", "KEPLER_TRAIN_STRESS_STATE"


class StressSession:
    """This machine: its sysfs is below `sysfs`, and its earlier CPU frequencies are saved in `state`."""

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
    ) -> StressPlan:
        """Return the phases of these loads on this machine; the schedule will note a sweep that cannot be set."""
        frequencies: list[int] = []
        if sweep:
            try:
                frequencies = self._cpufreq.sweep()
            except NoSweep as why:
                warn(str(why))
                self._notes.append(str(why))
        counts = counts or instance_counts(len(os.sched_getaffinity(0)))
        return plan_phases(loads, counts, frequencies, timeout=timeout, idle=idle, break_seconds=break_seconds)

    def run(
        self, plan: StressPlan, write: Callable[[Schedule], None], machine_id: str = "", node: str = ""
    ) -> tuple[Schedule, Signals | None]:
        """Run a plan; return the schedule, which `write` gets after every phase, and the signal that ended it."""
        loads = list(dict.fromkeys(phase.load for phase in plan.phases))
        check_programs(loads)
        about = Schedule(machine_id=machine_id, machine=this_machine(), notes=self._notes)
        with machine_lock(self._sysfs) as lock, StopSignals() as stop:
            self._put_back()
            run = StressRun(plan, self._cpufreq, about, write, unavailable=unavailable_loads(loads), node=node)
            return run.run(stop, lock), stop.signal

    def restore(self) -> None:
        """Restore the CPU frequencies that a killed run left, and do nothing else."""
        with machine_lock(self._sysfs):
            if not self._put_back():
                say("There is nothing to put back: no CPU frequency is held.")

    def _put_back(self) -> bool:
        """Restore CPU frequencies; return whether any were held."""
        if not self._cpufreq.held:
            return False
        failure = self._cpufreq.put_back()
        if failure:
            raise UserError(failure)
        say("Put back the CPU frequencies that a killed run had left.")
        return True


def phase_counts(schedule: Schedule) -> dict[str, int]:
    """Return how many phases were done, failed, missing or stopped."""
    return dict(Counter(phase.status for phase in schedule.phases))


def check_loaded(schedule: Schedule, where: object) -> None:
    """Refuse a schedule in which none of its loads ran; `where` names the place with the reasons."""
    ran = any(phase.load != IDLE for phase in schedule.labelled())
    if not ran and any(phase.load != IDLE for phase in schedule.phases):
        raise DataError(f"No load could run on this machine: {where} says why for every phase.")
