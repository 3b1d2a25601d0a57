"""The process behind `local up`: it starts the services, restarts those that die, and ends them all.

It is two processes. The keeper adopts every orphan below it and outlives the supervisor, so that nothing is left
however that ends; the supervisor ends when the keeper does. Both hold the home's lock until the last process is gone.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from kepler_train.errors import KeplerTrainError
from kepler_train.events import say, warn
from kepler_train.local.airflow import forget_other_airflows
from kepler_train.local.process import HOME, ProcessIdentity, children_of, kill_all, reap_orphans
from kepler_train.local.service import Service
from kepler_train.local.stack_services import STOP_ORDER, StackServices, plan_services
from kepler_train.local.state import ServiceState, Settings, StackState
from kepler_train.processes import adopt_orphans, die_with_parent, kill

_TICK = 0.25
_GIVE_UP = 3
"""Failed starts before the first success after which `up` is told that it will not work."""
_UNWELL_SECONDS = 60.0
_MISSED_CHECKS = 4
"""A busy machine answers late; only silence in a row counts."""
_ORPHAN_SECONDS = 2.0
"""Time for an adopted orphan to end by itself, as helpers of a finished task do."""


class SupervisedService:
    """A service and its history of starts and failures."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.shown = ServiceState(service.name, "waiting", address=service.address, log=str(service.log))
        self.failures = 0
        self.was_ready = False
        self._not_before = 0.0
        self._started = 0.0
        self._ready_since = 0.0
        self._unwell_since = 0.0
        self._next_check = 0.0
        self._missed = 0

    def tick(self, ready: set[str]) -> None:
        """Look at the service once, and take one step towards its being ready."""
        now = time.monotonic()
        child = self.service.child
        if child is None:
            if now >= self._not_before and ready.issuperset(self.service.needs):
                self._start(now)
        elif child.exit_code is not None and not (self.service.once and child.exit_code == 0):
            code = child.exit_code
            how = f"ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
            self._restart(now, f"{how}, {self.service.last_words()}")
        elif now >= self._next_check and self.shown.state != "done":
            self._check(now)

    def _start(self, now: float) -> None:
        try:
            self.service.start()
        except (KeplerTrainError, OSError) as error:
            self._restart(now, f"cannot start: {str(error).rstrip('.')}")
            return
        self._started = self._unwell_since = self._next_check = now
        self.shown.state = "starting"
        self.shown.pid = self.service.child.pid if self.service.child else None
        say(f"{self.service.name}: starting, pid {self.shown.pid}")

    def _check(self, now: float) -> None:
        if self.service.ready():
            if not self.shown.well:
                say(f"{self.service.name}: ready {now - self._started:.1f} s after its start")
                self._ready_since = now
            self.shown.state = "done" if self.service.once else "ready"
            self.shown.note = ""
            self.was_ready = True
            self._missed = 0
            if now - self._ready_since > _UNWELL_SECONDS:
                self.failures = 0
            self._next_check = now + 2.0
            return
        self._next_check = now + 0.5
        if self.shown.state == "ready":
            self._missed += 1
            if self._missed < _MISSED_CHECKS:
                return
            self.shown.state, self._unwell_since = "not well", now
            warn(f"{self.service.name}: does not answer")
        limit = self.service.start_seconds if self.shown.state == "starting" else _UNWELL_SECONDS
        if now - self._unwell_since > limit:
            self._restart(now, f"{self.shown.state} for {limit:.0f} s, {self.service.last_words()}")

    def _restart(self, now: float, why: str) -> None:
        if self.service.child is not None:
            self.service.child.kill()
            self.service.child = None
        self.service.clear()
        pause = min(30.0, 0.5 * 2**self.failures)
        self.failures += 1
        self.shown.restarts += 1
        self._not_before = now + pause
        self.shown.state, self.shown.pid = "waiting", None
        self.shown.note = why
        warn(f"{self.service.name}: {why}; starting again in {pause:.1f} s")


class Supervisor:
    """The loop that keeps the services of a stack running until it is told to stop."""

    def __init__(self, home: Path, settings: Settings, plan: StackServices, state: StackState) -> None:
        self.home, self.state = home, state
        self._services = [SupervisedService(service) for service in plan.services]
        self._owner = ProcessIdentity(*settings.owner) if settings.owner else None
        self._orphans: dict[int, float] = {}
        self._stopping = False
        state.services = [supervised.shown for supervised in self._services]

    def stop_soon(self, *_: object) -> None:
        """End after this tick."""
        self._stopping = True

    def run(self) -> None:
        """Watch the services until the end."""
        last = ""
        try:
            while not self._stopping:
                ready: set[str] = set()
                for supervised in self._services:
                    supervised.tick(ready)
                    if supervised.shown.well:
                        ready.add(supervised.service.name)
                self._tend_orphans()
                self.state.phase = self._phase()
                if (now := repr(self.state)) != last:
                    self._save()
                    last = now
                if self._owner and not self._owner.alive:
                    warn("The process that owns this stack has ended")
                    break
                time.sleep(_TICK)
        finally:
            self.stop()

    def stop(self) -> None:
        """End all services, those that need others first."""
        self.state.phase = "stopping"
        self._save()
        for names in STOP_ORDER:
            group = [supervised for supervised in self._services if supervised.service.name in names]
            for supervised in group:
                supervised.service.ask_to_stop()
            for supervised in group:
                started = time.monotonic()
                supervised.service.stop()
                supervised.service.close()
                supervised.shown.state, supervised.shown.pid = "stopped", None
                say(f"{supervised.service.name}: stopped in {time.monotonic() - started:.1f} s")
            self._save()
        self.state.phase = "down"
        self._save()

    def _save(self) -> None:
        try:
            self.state.write(self.home)
        except OSError as error:  # a full disk must not end what still works
            warn(f"The state cannot be written: {error}")

    def _phase(self) -> str:
        if self.state.phase == "up" or all(supervised.shown.well for supervised in self._services):
            return "up"
        hopeless = [
            supervised for supervised in self._services if not supervised.was_ready and supervised.failures >= _GIVE_UP
        ]
        return "failed" if hopeless else "starting"

    def _tend_orphans(self) -> None:
        known = {supervised.service.child.pid for supervised in self._services if supervised.service.child}
        reap_orphans(known)
        now = time.monotonic()
        orphans = set(children_of(os.getpid())) - known
        self._orphans = {pid: self._orphans.get(pid, now) for pid in orphans}
        for pid, seen in self._orphans.items():
            if now - seen > _ORPHAN_SECONDS:
                warn(f"Killing process {pid}, whose parent has died")
                kill(pid)


def main() -> None:
    """Run `python -m kepler_train.local.supervisor HOME`; it inherits the lock, and its settings are in the state."""
    home = Path(sys.argv[1])
    adopt_orphans()
    state = StackState.read(home)
    if state is None:
        sys.exit(f"There are no settings in {home}: use `kepler-train local up`.")
    keeper = os.getpid()
    supervisor = os.fork()
    if supervisor:
        _keep(home, supervisor)
    else:
        _supervise(home, state, keeper)


def _keep(home: Path, supervisor: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(supervisor, number))
    while True:
        pid, status = os.wait()
        if pid == supervisor:
            break
    killed = kill_all(lambda: children_of(os.getpid()), seconds=30)
    state = StackState.read(home)
    if state is not None and state.phase != "failed":
        how = os.waitstatus_to_exitcode(status)
        state.phase = "down"
        state.note = "" if how == 0 else f"The supervisor ended with {how}; {len(killed)} processes were ended with it."
        state.services = [ServiceState(s.name, "stopped", log=s.log) for s in state.services]
        state.write(home)
    sys.exit(0)


def _supervise(home: Path, state: StackState, keeper: int) -> None:
    die_with_parent(signal.SIGTERM)
    adopt_orphans()
    os.environ[HOME] = str(home)
    forget_other_airflows()
    supervisor, keeper_process = ProcessIdentity.of(os.getpid()), ProcessIdentity.of(keeper)
    state.supervisor = (supervisor.pid, supervisor.started) if supervisor else None
    state.keeper = (keeper_process.pid, keeper_process.started) if keeper_process else None
    state.phase, state.note, state.since, state.services = "starting", "", time.time(), []
    state.write(home)
    try:
        plan = plan_services(home, state.settings)
    except KeplerTrainError as error:
        state.phase, state.note = "failed", str(error)
        state.write(home)
        sys.exit(error.exit_code)
    state.urls, state.postgres_data, state.warning = plan.urls, plan.postgres_data, plan.warning
    stack = Supervisor(home, state.settings, plan, state)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stack.stop_soon)
    stack.run()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


if __name__ == "__main__":
    main()
