"""The real S3 server with a proxy before it that injects faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from real_s3 import s3_server
from s3_faults import S3Faults


@pytest.fixture
def proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Faults]:
    with S3Faults(s3_server(request.config)) as faults:
        for name, value in faults.client_environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
        yield faults
