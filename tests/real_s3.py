"""One real S3 server for all tests of a session that ask for it, with the bucket `lab`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from kepler_train.local.seaweedfs import SeaweedServer

_running: list[SeaweedServer] = []


def s3_server(config: pytest.Config) -> SeaweedServer:
    """The server, started at the first call and stopped at the end of the session."""
    if not _running:
        folder = Path(tempfile.mkdtemp(prefix="kt-s3-"))
        server = SeaweedServer(folder / "s3", buckets=["lab"])
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        server.__enter__()
        config.add_cleanup(lambda: server.__exit__(None, None, None))
        _running.append(server)
    return _running[0]
