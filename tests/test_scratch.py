"""What a killed command leaves in the temporary folder is removed by the next one, whatever that does."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HOLD = """
from kepler_train.scratch import ScratchFolder
folder = ScratchFolder()
(folder.path / "half").write_text("a result")
print(folder.path.parent.name, flush=True)
input()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)  # as a command that starts has not looked for it
    return folder


def hold() -> tuple[subprocess.Popen[str], str]:
    """A process at work in a scratch folder, and the name of that."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_command_that_needs_no_scratch_folder_sweeps_those_of_the_dead_and_no_other(
    temporary: Path, kepler_train: Callable[..., tuple[int, list[str], list[str]]]
) -> None:
    living, held = hold()
    dead, left = hold()
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    (temporary / "kepler-train-scratch-mine").mkdir()
    (temporary / "kepler-train-scratch-mine" / "letter").write_text("of somebody who likes the name")
    (temporary / "kepler-train-scratch-link").symlink_to(temporary)
    assert left in names(temporary)
    assert kepler_train("--version")[0] == 0
    foreign = {"kepler-train-scratch-mine", "kepler-train-scratch-link"}
    assert names(temporary) == {held} | foreign
    assert (temporary / held / "work" / "half").read_text() == "a result"
    living.communicate("\n")
    assert kepler_train("--version")[0] == 0
    assert names(temporary) == foreign


def test_a_temporary_folder_that_is_not_there_does_not_stop_who_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kepler_train: Callable[..., tuple[int, list[str], list[str]]]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert kepler_train("--version")[0] == 0
