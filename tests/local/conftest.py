"""A home for a stack: short, and reachable by the user that PostgreSQL runs as when the tests run as root."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kepler_train.local.outside_home import sweep


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    yield from _home()


@pytest.fixture
def home() -> Iterator[Path]:
    yield from _home()


def _home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kt-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
    sweep()  # with a strict umask its database was outside of it
