"""What all tests share: the same examples every time, and where the optional real data are."""

import os
from collections.abc import Callable
from pathlib import Path

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
