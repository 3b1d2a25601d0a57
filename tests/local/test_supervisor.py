"""The supervisor with programs that do nothing but live: who is killed, and who must be gone then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kepler_train.local.process import STACK_MARK, ProcessIdentity, marked
from kepler_train.local.stack import RunningStack, end_leftovers, find
from kepler_train.local.state import Settings, StackState, lock_home

PROGRAM = """
import sys
from pathlib import Path
from kepler_train.local import stack_services, supervisor
from kepler_train.local.service import Service

home = Path(sys.argv[1])

class Sleeper(Service):
    # One child of its own, in a session of its own, as a task of the scheduler may have.
    script = "setsid sleep 1001 & exec sleep 1000"
    start_seconds = 5.0

    def __init__(self, name, needs=()):
        self.name, self.needs, self.log, self.home = name, needs, home / f"{name}.log", home

    def command(self):
        return ["sh", "-c", self.script]

    def ready(self):
        return True

class Broken(Sleeper):
    script = "echo no luck today; exit 3"

    def ready(self):
        return False

services = [Sleeper("postgres"), Sleeper("scheduler", ("postgres",))]
if "broken" in sys.argv:
    services.append(Broken("triggerer"))
supervisor.plan_services = lambda home, settings: stack_services.StackServices(services, {}, "")
supervisor.main()
"""


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., RunningStack]]:
    def begin(*words: str, settings: Settings | None = None) -> RunningStack:
        lock = lock_home(home)
        assert lock
        StackState("starting", settings=settings or Settings()).write(home)
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(home), *words],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(lock.fileno(),),
            env={**os.environ, STACK_MARK: str(home)},
        )
        lock.close()
        stack = RunningStack(home)
        until(lambda: stack.state.phase in ("up", "failed"))
        return stack

    yield begin
    end_leftovers(home)


def until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found


def processes(home: Path) -> list[int]:
    return marked({STACK_MARK: str(home)})


def test_a_killed_service_is_started_again_after_all_it_had_started_is_gone(start: Callable[..., RunningStack]):
    stack = start()
    first = stack.pid_of("scheduler")
    assert first
    session = marked({"KEPLER_TRAIN_SERVICE": "scheduler", STACK_MARK: str(stack.home)})
    assert len(session) == 2
    before = [ProcessIdentity.of(pid) for pid in session]
    os.kill(first, signal.SIGKILL)
    second = until(lambda: (pid := stack.pid_of("scheduler")) != first and pid)
    assert ProcessIdentity.of(second)
    assert not any(one and one.alive for one in before)
    assert next(shown.restarts for shown in stack.state.services if shown.name == "scheduler") == 1


def test_after_stop_no_process_is_left_and_the_home_is_free(start: Callable[..., RunningStack]):
    stack = start()
    assert len(processes(stack.home)) == 6  # keeper, supervisor, two services with a child each
    assert lock_home(stack.home) is None
    assert stack.stop() == ["postgres", "scheduler"]
    assert processes(stack.home) == []
    assert find(stack.home) is None
    lock = lock_home(stack.home)
    assert lock
    lock.close()


@pytest.mark.parametrize("victim", ["supervisor", "keeper"])
def test_whichever_of_the_two_is_killed_nothing_is_left(start: Callable[..., RunningStack], victim: str):
    stack = start()
    who = getattr(stack.state, victim)
    os.kill(who[0], signal.SIGKILL)
    until(lambda: not processes(stack.home) and find(stack.home) is None)
    assert stack.state.phase == "down"


def test_when_both_are_killed_at_once_the_next_command_ends_the_rest(start: Callable[..., RunningStack]):
    stack = start()
    state = stack.state
    assert state.keeper
    assert state.supervisor
    os.kill(state.keeper[0], signal.SIGSTOP)
    os.kill(state.supervisor[0], signal.SIGKILL)
    os.kill(state.keeper[0], signal.SIGKILL)
    until(lambda: find(stack.home) is None)
    end_leftovers(stack.home)
    assert processes(stack.home) == []


def test_a_stack_ends_with_the_process_that_owns_it(start: Callable[..., RunningStack]):
    with subprocess.Popen(["sleep", "1000"]) as owner:
        identity = ProcessIdentity.of(owner.pid)
        assert identity
        stack = start(settings=Settings(owner=(identity.pid, identity.started)))
        owner.kill()
    until(lambda: not processes(stack.home))


def test_a_service_that_never_works_is_reported_with_its_last_words(start: Callable[..., RunningStack]):
    stack = start("broken")
    state = stack.state
    assert state.phase == "failed"
    assert "exit code 3, its log ends: no luck today" in next(s.note for s in state.services if s.name == "triggerer")
    stack.stop()
    assert processes(stack.home) == []


def test_a_reused_process_number_is_not_taken_for_a_running_stack(home: Path):
    StackState("up", supervisor=(os.getpid(), 1), keeper=(os.getppid(), 1)).write(home)
    assert find(home) is None
