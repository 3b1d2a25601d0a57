"""What all tests share: the same examples every time, and where the optional real data are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from known_samples import HOURS, START

from kepler_train.cli import main
from kepler_train.simulate.machine import Machine
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes

settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
# Nobody waits there for a smaller example, and looking for one may take longer than a test has.
settings.register_profile("ci", settings.get_profile("steady"), phases=set(Phase) - {Phase.shrink, Phase.explain})
settings.load_profile("ci" if os.environ.get("CI") else "steady")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from kepler_train.local.stack import RunningStack

_ON_THE_RUNNING_STACK = ("test_walk.py", "test_models_in_the_ui.py", "test_other_users.py", "test_foreign_pages.py")
SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real recordings beside the checkout; tests that need them skip without."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("no real recordings: ../shared/data is not there")
    return folder


@pytest.fixture(scope="session")
def kepler_recording() -> Path:
    """The recording of an unmodified Kepler 0.11.4 on a virtual meter whose law is known; its README says more."""
    return Path(__file__).parent / "data" / "kepler-0.11.4"


@pytest.fixture(scope="session")
def two_nodes() -> list[NodeRun]:
    """Eight hours of two simulated nodes."""
    return run_nodes(
        Scenario(
            start=START,
            duration=HOURS * 3600,
            nodes=2,
            seed=3,
            containers=4,
            machine=Machine(sockets=1, cores_per_socket=4),
            phase=600,
            idle=600,
        )
    )


@pytest.fixture(scope="session")
def running_stack() -> Iterator[RunningStack]:
    """The stack of `tests/running_stack.py`; files that ask for it are named in `_ON_THE_RUNNING_STACK`."""
    from running_stack import stack_on_a_history

    with stack_on_a_history() as up:
        yield up


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's browser, or the test is skipped."""
    from browsing import browser

    with browser() as started:
        yield started


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests of a file to one worker, which starts their servers once; and all that share the stack too."""
    from xdist.scheduler import LoadFileScheduling

    class ByServers(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "the running stack" if file.endswith(_ON_THE_RUNNING_STACK) else file

    return ByServers(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture
def kepler_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], list[str]]]:
    """`kepler-train …` in a folder of its own: its exit code, the lines it says, and those of its errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, list[str], list[str]]:
        monkeypatch.setattr("sys.argv", ["kepler-train", *arguments])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return run
