"""The same tests on a folder and on a real S3 server."""

from __future__ import annotations

from pathlib import Path

import pytest
from publishing import Publishing
from real_s3 import s3_server


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.integration)])
def publishing(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Publishing:
    if request.param == "s3":
        for name, value in s3_server(request.config).client_environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    monkeypatch.setattr("os.fsync", lambda _: None)  # it guards against power cuts, and costs seconds here
    return Publishing(request.param, tmp_path)
