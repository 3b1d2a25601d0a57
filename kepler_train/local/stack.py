"""The embedded stack as others use it: start it, find it, ask it, stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from kepler_train.errors import TryAgain, UserError
from kepler_train.local import outside_home
from kepler_train.local.airflow_api import AirflowApi
from kepler_train.local.files import open_private
from kepler_train.local.login import Login
from kepler_train.local.postgres import site_packages
from kepler_train.local.private_home import UMASK, make_private, refuse_foreign
from kepler_train.local.process import STACK_MARK, ProcessIdentity, kill_all, marked
from kepler_train.local.stack_services import checked
from kepler_train.local.state import Settings, StackState, home_folder, lock_home

Tell = Callable[[str], None]


class RunningStack:
    """A stack whose supervisor runs."""

    def __init__(self, home: Path) -> None:
        self.home = home

    @property
    def state(self) -> StackState:
        """Return the state that the supervisor wrote last."""
        state = StackState.read(self.home)
        if state is None:
            raise TryAgain(f"The stack in {self.home} is gone.")
        return state

    @property
    def airflow_url(self) -> str:
        """Return the address of Airflow's UI and API."""
        return self.state.urls["airflow"]

    @property
    def prometheus_url(self) -> str | None:
        """Return the address of Prometheus, if the stack has one or was told of one."""
        return self.state.urls.get("prometheus")

    @property
    def s3_url(self) -> str | None:
        """Return the S3 endpoint, if the stack has one."""
        return self.state.urls.get("s3")

    @property
    def api(self) -> AirflowApi:
        """Return a client of its Airflow."""
        return AirflowApi(self.airflow_url, self.login)

    @property
    def login(self) -> Login:
        """Return the login of its Airflow."""
        return Login(self.home)

    def pid_of(self, service: str) -> int | None:
        """Return the process of a service; None while it has none."""
        return next((state.pid for state in self.state.services if state.name == service), None)

    def wait_well(self, seconds: float, tell: Tell = lambda _: None) -> None:
        """Wait until everything works; `tell` hears of each service that becomes ready."""
        started = time.monotonic()
        states: dict[str, str] = {}
        while True:
            state = self.state
            for service in state.services:
                if states.get(service.name, "waiting") != service.state:
                    states[service.name] = service.state
                    tell(f"{time.monotonic() - started:5.1f} s  {service.name:<14} {service.state}")
            if state.well:
                return
            if state.phase == "failed" or not state.running:
                notes = [f"{service.name} {service.note}" for service in state.services if service.note]
                why = (state.note or "; ".join(notes) or f"it is {state.phase}").rstrip(".")
                raise TryAgain(f"The stack did not start: {why}. Its logs are in {self.home / 'logs'}.")
            if time.monotonic() - started > seconds:
                late = ", ".join(service.name for service in state.services if not service.well) or "everything"
                raise TryAgain(
                    f"Not ready after {seconds:.0f} s: {late}. It goes on starting: see `kepler-train local status`"
                    f" and {self.home / 'logs'}."
                )
            time.sleep(0.2)

    def stop(self, seconds: float = 90.0) -> list[str]:
        """Stop everything and return the services that were running."""
        state = self.state
        names = [service.name for service in state.services if service.pid and service.state != "done"]
        keeper = ProcessIdentity(*state.keeper) if state.keeper else None
        supervisor = ProcessIdentity(*state.supervisor) if state.supervisor else None
        if supervisor and supervisor.alive:
            with suppress(ProcessLookupError):
                os.kill(supervisor.pid, signal.SIGTERM)
        deadline = time.monotonic() + seconds
        while (keeper and keeper.alive) or (supervisor and supervisor.alive):
            if time.monotonic() > deadline and supervisor and supervisor.alive:
                os.kill(supervisor.pid, signal.SIGKILL)  # the keeper ends the rest
                deadline += 30
            time.sleep(0.05)
        end_leftovers(self.home)
        return names


class Stack:
    """A stack that may be started: `with Stack(home, Settings(s3=True)).running() as up: up.airflow_url`."""

    def __init__(self, home: Path | None = None, settings: Settings | None = None) -> None:
        self.home = home_folder(home)
        self.settings = settings or Settings()

    def start(self, seconds: float = 180.0, tell: Tell = lambda _: None) -> RunningStack:
        """Start it, wait until it works, and return it; one that cannot start is stopped again."""
        settings = checked(self.settings)
        if make_private(self.home):
            tell(f"{self.home} was open to other users of this machine; now it is closed to them.")
        deadline = time.monotonic() + seconds
        while (lock := lock_home(self.home)) is None:
            running = find(self.home)
            if running is not None and running.state.phase in ("starting", "up"):
                running.wait_well(deadline - time.monotonic(), tell)
                return running
            if time.monotonic() > deadline:
                raise TryAgain(f"Another stack holds {self.home}: see `kepler-train local status`.")
            time.sleep(0.1)
        end_leftovers(self.home)
        logs = self.home / "logs"
        logs.mkdir(mode=0o700, exist_ok=True)
        for log in logs.glob("*.log"):
            log.rename(log.with_suffix(".log.1"))
        StackState("starting", settings=settings).write(self.home)
        with open_private(logs / "supervisor.log", "ab") as log_file:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "kepler_train.local.supervisor", str(self.home)],
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.home,
                umask=UMASK,
                pass_fds=(lock.fileno(),),
                env={**os.environ, STACK_MARK: str(self.home), "PYTHONUNBUFFERED": "1"},
            )
        lock.close()  # the supervisor has it
        running = RunningStack(self.home)
        try:
            while running.state.supervisor is None:
                if process.poll() is not None:
                    raise TryAgain(f"The supervisor ended at once: see {logs / 'supervisor.log'}.")
                time.sleep(0.05)
            running.wait_well(seconds, tell)
            if warning := running.state.warning:
                tell(f"warning: {warning}")
        except BaseException:
            if running.state.phase == "failed":
                running.stop()
                _mark_down(self.home)
            raise
        finally:
            process.poll()
        return running

    @contextmanager
    def running(self, seconds: float = 180.0) -> Iterator[RunningStack]:
        """Run the stack for the length of a block; it ends with this process too, however that ends."""
        me = ProcessIdentity.of(os.getpid())
        self.settings = replace(self.settings, owner=(me.pid, me.started) if me else None)
        if find(self.home) is not None:
            raise UserError(f"A stack is already up in {self.home}.")
        try:
            yield self.start(seconds)
        finally:
            if (still := find(self.home)) is not None:
                still.stop()


def find(home: Path | None = None) -> RunningStack | None:
    """Return the stack that runs in a home; None when none does."""
    folder = home_folder(home)
    refuse_foreign(folder)  # its state names processes that we would signal
    state = StackState.read(folder)
    return RunningStack(folder) if state is not None and state.running else None


def kept_outside(home: Path) -> list[Path]:
    """Return what the stack of a home keeps outside of it, for PostgreSQL's own user."""
    return outside_home.kept_for(home / "postgres", site_packages())


def end_leftovers(home: Path) -> list[int]:
    """Kill what is left of a stack whose supervisor and keeper were both killed, and return it."""
    return kill_all(lambda: marked({STACK_MARK: str(home)}))


def _mark_down(home: Path) -> None:
    state = StackState.read(home)
    if state is not None:
        state.phase, state.services = "down", []
        state.write(home)
