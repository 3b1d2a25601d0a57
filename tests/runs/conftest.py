"""A store by name, the same tests on a folder and on a real S3 server."""

from __future__ import annotations

from pathlib import Path

import fake_steps
import pytest
from fake_steps import SPEC, STEPS
from places import Do, Place
from real_s3 import s3_server

from kepler_train.runs.request import NO_REQUEST, Request
from kepler_train.runs.runner import run_step
from kepler_train.spec import RunSpec
from kepler_train.workspace import FileStore, Manifest, Run


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.integration)])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    if request.param == "s3":
        for name, value in s3_server(request.config).client_environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr("os.fsync", lambda _: None)  # it guards against power cuts, and costs seconds here
    return Place(request.param, tmp_path)


@pytest.fixture(autouse=True)
def fresh_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_steps.CALLS.clear()
    monkeypatch.setattr(fake_steps, "WORD", ["old"])


@pytest.fixture
def store(place: Place) -> FileStore:
    return place.store(place.new())


@pytest.fixture
def do(store: FileStore) -> Do:
    """`do("count")`: one step of the run lab/1."""

    def one(
        step: str,
        part: str = "",
        spec: RunSpec = SPEC,
        run: str = "lab/1",
        force: bool = False,
        request: Request = NO_REQUEST,
    ) -> Manifest:
        return run_step(STEPS[step], STEPS, Run.named(store, run), spec, part, force, request=request)

    return one
