"""Prometheus: Debian's server on a folder of blocks, or our simulation where that is not installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import requests

from kepler_train.errors import UserError
from kepler_train.local.ports import Port, take_port
from kepler_train.local.service import Service

_HOW_TO_INSTALL = "install it (apt-get install prometheus) or serve a recording with `kepler-train simulate prometheus`"


class _ApiService(Service):
    """A service that answers Prometheus' API on a port."""

    name = "prometheus"

    def __init__(self, host: str, port: int, log: Path) -> None:
        self.port: Port = take_port(host, port, prefer=9090)
        self.ports, self.log = (self.port,), log

    @property
    def url(self) -> str:
        """Return the address of its API."""
        return self.port.url

    address = url

    def ready(self) -> bool:
        """Return whether it says that it is ready."""
        try:
            return requests.get(f"{self.url}/-/ready", timeout=2).status_code < 300
        except requests.RequestException:
            return False


class PrometheusServer(_ApiService):
    """Debian's Prometheus: `with PrometheusServer(folder) as p: requests.get(p.url + "/api/v1/query", …)`."""

    def __init__(
        self,
        data: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        scrape: Mapping[str, Sequence[str]] = MappingProxyType({}),
        scrape_interval: str = "3s",
        log: Path | None = None,
    ) -> None:
        """Serve the blocks in `data` and scrape the targets (host:port) of each job in `scrape`."""
        self.data = data.absolute()
        self.program = _program("prometheus")
        super().__init__(host, port, log or self.data.parent / f"{self.data.name}.log")
        self._scrape, self._interval = dict(scrape), scrape_interval

    @property
    def _configuration(self) -> Path:
        return self.data / "prometheus.yml"

    def fill(self, openmetrics: Path) -> None:
        """Turn a recording in OpenMetrics text into blocks of the data folder, before the start."""
        self.data.mkdir(parents=True, exist_ok=True)
        fill_blocks(openmetrics, self.data)

    def prepare(self) -> None:
        """Write the configuration, in JSON, which every YAML reader reads."""
        self.data.mkdir(parents=True, exist_ok=True)
        configuration = {
            "global": {"scrape_interval": self._interval, "scrape_timeout": self._interval},
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": list(targets)}]}
                for job, targets in self._scrape.items()
            ],
        }
        self._configuration.write_text(json.dumps(configuration))

    def command(self) -> list[str]:
        """Return the server and its options; retention is ten years, as training is about old samples."""
        return [
            self.program,
            f"--config.file={self._configuration}",
            f"--storage.tsdb.path={self.data}",
            "--storage.tsdb.retention.time=10y",
            f"--web.listen-address={self.port.host}:{self.port.number}",
            "--log.level=warn",
        ]


class SimulatedPrometheus(_ApiService):
    """Our simulation of Prometheus' API on the recording of a node."""

    def __init__(self, recording: Path, *, host: str = "127.0.0.1", port: int = 0, log: Path | None = None) -> None:
        self.recording = recording.absolute()
        super().__init__(host, port, log or self.recording.with_suffix(".log"))

    def command(self) -> list[str]:
        """Return the command a person would type."""
        listen = ["--host", self.port.host, "--port", str(self.port.number)]
        python = [sys.executable, "-c", "from kepler_train.cli import main; main()"]
        return [*python, "simulate", "prometheus", *listen, "--data", str(self.recording)]


def fill_blocks(openmetrics: Path, data: Path) -> None:
    """Write a recording in OpenMetrics text as blocks of a day each into a Prometheus data folder."""
    blocks = ["tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=24h", "--quiet"]
    result = subprocess.run([_program("promtool"), *blocks, openmetrics, data], capture_output=True, text=True)
    if result.returncode:
        raise UserError(f"{openmetrics} is not OpenMetrics text that promtool can read: {result.stderr.strip()[-400:]}")


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise UserError(f"{name} was not found on this machine: {_HOW_TO_INSTALL}.")
    return path
