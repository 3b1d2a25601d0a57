"""The image of the steps lacks the simulator and the embedded stack, and says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kepler_train

PACKAGE = Path(kepler_train.__file__).parent
LEFT_OUT = ("kepler_train/local", "kepler_train/simulate")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as the image has it."""
    folder = tmp_path_factory.mktemp("image")
    shutil.copytree(PACKAGE, folder / "kepler_train", ignore=shutil.ignore_patterns("__pycache__"))
    for name in LEFT_OUT:
        shutil.rmtree(folder / name)
    return folder


def run(image: Path, *arguments: str) -> tuple[int, str, str]:
    program = f"import sys; sys.path.insert(0, {str(image)!r}); from kepler_train.cli import main; main()"
    done = subprocess.run([sys.executable, "-P", "-c", program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_the_build_leaves_out_the_simulator_and_the_embedded_stack() -> None:
    assert set(LEFT_OUT) <= set((PACKAGE.parent / ".dockerignore").read_text().splitlines())


@pytest.mark.parametrize("arguments", [("simulate", "history", "--out", "x"), ("local", "up", "--help"), ("demo",)])
def test_a_command_that_the_image_lacks_says_so_in_one_sentence(image: Path, arguments: tuple[str, ...]) -> None:
    code, _, errors = run(image, *arguments)
    missing = (
        f"error: `kepler-train {arguments[0]}` is not in the image of the steps: install kepler-train to use it.\n"
    )
    assert (code, errors) == (2, missing)


def test_everything_else_is_there(image: Path) -> None:
    code, shown, _ = run(image, "--help")
    assert code == 0
    assert "run-step" in shown
    assert "simulate" not in shown
