"""Whatever a server does wrong ends a query in one sentence and the right exit code, with nothing half-written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import stamina
from known_samples import START, collected, held

from kepler_train.cli import main
from kepler_train.simulate.prometheus import prometheus_server
from kepler_train.simulate.server import Answer, Server
from kepler_train.simulate.store import Store

ENERGY = [f"kepler_node_{part}_joules_total" for part in ("package", "core", "uncore", "dram")]
WANTED = [*ENERGY, "kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total"]
Ended = tuple[int, list[str], list[str]]  # exit code, lines on stdout, lines on stderr
Run = Callable[[str], Ended]


@pytest.fixture
def query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`kepler-train query` of an hour from an address."""
    monkeypatch.setenv("DATAPATH", str(tmp_path))

    def run(url: str) -> Ended:
        window = ["--start-time", "2026-11-14T00:00:00Z", "--interval", "3600"]
        what = ["--energy-source", "rapl-sysfs", "--feature-group", "BPFOnly"]
        monkeypatch.setattr("sys.argv", ["kepler-train", "query", "--server", url, *window, *what])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return run


@pytest.fixture
def at_once() -> Iterator[None]:
    """Tries again without waiting."""
    with stamina.set_testing(True, attempts=4):
        yield


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    with Server(lambda *_: answer) as server:
        yield server.url


@pytest.mark.parametrize("faults", [[], ["unavailable:2"], ["truncated:2"], ["slow"], ["too-many-samples:2"]])
def test_a_server_that_comes_to_itself_is_waited_for(
    faults: list[str], query: Run, at_once: None, store: Store, tmp_path: Path
) -> None:
    with prometheus_server(store, faults, slow_seconds=0.1) as server:
        code, _, errors = query(server.url)
    assert (code, errors) == (0, [])
    assert collected(tmp_path / "kepler_query") == held(store, WANTED, START, START + 3600)


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("unavailable", 75, "answered 503"),
        ("truncated", 75, "breaks off"),
        ("unauthorized", 2, "PROMETHEUS_TOKEN_FILE"),
        ("html", 2, "is it the address of Prometheus?"),
        ("too-many-samples", 2, "too many samples"),
    ],
)
def test_a_fault_that_stays_is_one_sentence_and_leaves_nothing(
    fault: str, code: int, words: str, query: Run, at_once: None, store: Store, tmp_path: Path
) -> None:
    with prometheus_server(store, [fault]) as server:
        ended, _, errors = query(server.url)
    assert ended == code
    assert len(errors) == 1
    assert words in errors[0]
    assert list(tmp_path.iterdir()) == []


def test_a_fault_in_the_middle_keeps_the_earlier_result(
    query: Run, at_once: None, store: Store, tmp_path: Path
) -> None:
    with prometheus_server(store) as server:
        assert query(server.url)[0] == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "kepler_query").iterdir()}
    with prometheus_server(store, ["too-many-samples"]) as server:  # series are listed, samples are not given
        assert query(server.url)[0] == 2
    assert {file.name: file.read_bytes() for file in (tmp_path / "kepler_query").iterdir()} == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["kepler_query"]


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b'{"status":"success","data":[]}', 3, "no energy counters of Kepler"),
        (b'{"status":"success"}', 2, "something else than series"),
        (b'{"status":"success","data":{"result":7}}', 2, "something else than series"),
        (b'{"status":"error","error":"out of luck"}', 2, "out of luck"),
        (b"[1,2]", 2, "answered 200"),
        (b'{"status":"succ', 75, "breaks off"),
        (b"", 75, "breaks off"),
    ],
)
def test_an_answer_of_another_shape_is_said_to_be_so(
    body: bytes, code: int, words: str, query: Run, at_once: None, tmp_path: Path
) -> None:
    with answering(Answer(body)) as url:
        ended, _, errors = query(url)
    assert (ended, len(errors)) == (code, 1)
    assert words in errors[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("status", "code"), [(429, 75), (500, 75), (502, 75), (403, 2), (404, 2), (302, 2), (422, 2)])
def test_every_status_has_its_exit_code(status: int, code: int, query: Run, at_once: None) -> None:
    with answering(Answer(b'{"status":"error","error":"as asked"}', status)) as url:
        ended, _, errors = query(url)
    assert (ended, len(errors)) == (code, 1)


def test_a_refused_connection_is_given_up_within_fifteen_seconds(query: Run, tmp_path: Path) -> None:
    began = time.monotonic()
    code, lines, errors = query("http://127.0.0.1:1")
    assert time.monotonic() - began < 15
    assert code == 75
    assert errors == ["error: Prometheus at http://127.0.0.1:1 cannot be reached: connection refused."]
    assert [line for line in lines if "Trying again" in line] == lines  # and nothing of the machinery behind it
    assert list(tmp_path.iterdir()) == []


def test_a_server_without_a_name_in_the_world_may_be_there_later(query: Run, at_once: None) -> None:
    code, _, errors = query("http://prometheus.invalid:9090")
    assert code == 75
    assert "prometheus.invalid:9090 cannot be reached" in errors[0]
