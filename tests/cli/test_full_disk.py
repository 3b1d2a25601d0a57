"""A disk that fills up while a command works: one sentence and exit code 2, whatever was being written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from simulated import START, write_node

from kepler_train.errors import UserError, room_for
from kepler_train.simulate.history import exported
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import store_of

Ended = tuple[int, list[str], list[str]]  # exit code, lines on stdout, lines on stderr
KeplerTrain = Callable[..., Ended]
TRAIN = ["-p", "lab", "--node-type", "0", "-ot", "AbsPower", "--abs-trainers", "LinearRegressionTrainer"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A folder on a disk of the size that is asked for."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(size: str) -> Path:
        made = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(made, capture_output=True, check=False).returncode != 0:
            pytest.skip("a small disk needs root and the right to mount")
        return folder

    yield mount
    subprocess.run(["umount", "-ql", str(folder)], check=False)


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_node(tmp_path_factory.mktemp("measured"), hours=1) / "kepler_query"


def is_one_sentence(ended: Ended) -> bool:
    code, _, errors = ended
    return code == 2 and len(errors) == 1 and errors[0].startswith("error: The disk is full")


def test_during_a_query(kepler_train: KeplerTrain, small_disk: Callable[[str], Path]) -> None:
    node = run_nodes(Scenario(start=START, duration=3600, seed=1, containers=5, phase=300, idle=120))
    window = ["--start-time", "2026-11-14T00:00:00Z", "--end-time", "2026-11-14T01:00:00Z"]
    with prometheus_server(store_of(exported(node, "legacy", ["rapl-sysfs"], frozenset(), seed=1))) as server:
        place = small_disk("20k")
        assert is_one_sentence(kepler_train("query", "--server", server.url, *window, "-o", str(place / "query")))
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("size", ["20k", "200k"])
def test_during_training(
    kepler_train: KeplerTrain,
    small_disk: Callable[[str], Path],
    query: Path,
    size: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    place = small_disk(size)
    monkeypatch.setattr("tempfile.tempdir", str(place))
    assert is_one_sentence(kepler_train("train", "-i", str(query), *TRAIN))
    assert list(place.iterdir()) == []
    assert list((tmp_path / "models").iterdir()) == []


def test_during_an_export(kepler_train: KeplerTrain, small_disk: Callable[[str], Path], query: Path) -> None:
    assert kepler_train("train", "-i", str(query), *TRAIN, "--gate-mae", "50")[0] == 0
    place = small_disk("40k")
    assert is_one_sentence(kepler_train("export", "-p", "lab", "-o", str(place)))
    assert list(place.iterdir()) == []


def test_of_a_table_that_is_written(
    kepler_train: KeplerTrain, query: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "rows.parquet")

    monkeypatch.setattr("kepler_train.extract.training_table.write_table", fill)
    code, _, errors = kepler_train("extract", "-i", str(query))
    assert code == 2
    assert errors == [
        "error: The disk is full at rows.parquet: make room for what the command writes, also to the folder of"
        " temporary files (TMPDIR)."
    ]
    assert list(tmp_path.glob("extracted*")) == []


def test_of_a_folder_that_is_copied_is_told_by_its_words() -> None:
    full, forbidden = f"[Errno {errno.EDQUOT}] Disk quota exceeded", "[Errno 13] Permission denied"
    with pytest.raises(UserError, match=r"The disk is full: make room for a copy\."), room_for("a copy"):
        raise shutil.Error([("a", "b", full)])
    with pytest.raises(shutil.Error), room_for("a copy"):
        raise shutil.Error([("a", "b", forbidden)])
