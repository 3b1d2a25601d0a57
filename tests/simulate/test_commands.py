"""The two servers as a person starts them: the first line is the address."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from typer.testing import CliRunner

from kepler_train.cli.app import app
from kepler_train.errors import UserError

COMMAND = [sys.executable, "-c", "from kepler_train.cli import main; main()", "simulate"]


@contextmanager
def started(*arguments: str) -> Iterator[str]:
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def test_prometheus_makes_its_own_history_when_given_none() -> None:
    with started("prometheus", "--duration", "1h", "--start", "2026-11-14T00:00:00Z", "--fault", "two-nodes") as url:
        assert url.startswith("http://127.0.0.1:")
        query = {"query": "kepler_node_node_info", "time": "2026-11-14T00:30:00Z"}
        answer = requests.get(f"{url}/api/v1/query", params=query, timeout=10).json()
    assert [series["metric"]["instance"] for series in answer["data"]["result"]] == ["node-0", "node-1"]


@pytest.mark.parametrize("meter", ["sim", "host"])
def test_a_node_exports_on_the_address_it_prints(meter: str) -> None:
    with started("node", "--meter", meter, "--dialect", "current", "--name", "box") as url:
        text = requests.get(url, timeout=10).text
    assert 'kepler_node_cpu_joules_total{zone="package"' in text
    assert 'node_name="box"' in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["prometheus", "--data", "{file}", "--fault", "gap"], "--data is served as it is"),
        (["prometheus", "--data", "{file}.gone"], "Cannot read"),
        (["prometheus", "--fault", "slwo"], "did you mean 'slow'"),
        (["node", "--meter", "hots"], "There is no meter 'hots': did you mean 'host'?"),
        (["node", "--fault", "two-nodes"], "start `simulate node` twice"),
        (["node", "--host", "192.0.2.1"], "Cannot listen on 192.0.2.1:0"),
    ],
)
def test_a_server_that_cannot_start_says_why_and_ends_with_2(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    (tmp_path / "h.om").write_text("# EOF\n")
    filled = [part.format(file=tmp_path / "h.om") for part in arguments]
    done = CliRunner().invoke(app, ["simulate", *filled])
    assert isinstance(done.exception, UserError)
    assert done.exception.exit_code == 2
    assert sentence in str(done.exception)
