"""Whatever a server does wrong ends a query in one sentence and the right exit code, with nothing half-written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_samples import START, collected, held
from scripted import Reply, attempts_at_once, scripted

from kepler_train.query.server_errors import requested_pause
from kepler_train.simulate.faults import SERVER_FAULTS
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.server import HttpAnswer, Server
from kepler_train.simulate.store import SampleStore

ENERGY = [f"kepler_node_{part}_joules_total" for part in ("package", "core", "uncore", "dram")]
WANTED = [*ENERGY, "kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total"]
Ended = tuple[int, list[str], list[str]]  # exit code, lines on stdout, lines on stderr
Run = Callable[[str], Ended]


@pytest.fixture
def query(kepler_train: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`kepler-train query` of an hour from an address."""
    monkeypatch.setenv("DATAPATH", str(tmp_path))
    window = ["--start-time", "2026-11-14T00:00:00Z", "--interval", "3600"]
    what = ["--energy-source", "rapl-sysfs", "--feature-group", "BPFOnly"]
    return partial(kepler_train, "query", *window, *what, "--server")


@pytest.fixture
def at_once() -> Iterator[None]:
    """Tries again without waiting."""
    with attempts_at_once(4):
        yield


@contextmanager
def answering(answer: HttpAnswer) -> Iterator[str]:
    with Server(lambda *_: answer) as server:
        yield server.url


PASSING = [[], ["unavailable:2"], ["truncated:2"], ["slow"], ["too-many-samples:2"]]
STAYING = [
    ("unavailable", 75, "answered 503"),
    ("truncated", 75, "breaks off"),
    ("unauthorized", 2, "PROMETHEUS_TOKEN_FILE"),
    ("html", 2, "is it the address of Prometheus?"),
    ("too-many-samples", 2, "too many samples"),
]


def test_every_fault_of_the_simulated_server_is_met() -> None:
    met = {name.partition(":")[0] for names in PASSING for name in names} | {fault for fault, _, _ in STAYING}
    assert met == set(SERVER_FAULTS)


@pytest.mark.parametrize("faults", PASSING)
def test_a_server_that_comes_to_itself_is_waited_for(
    faults: list[str], query: Run, at_once: None, store: SampleStore, tmp_path: Path
) -> None:
    with prometheus_server(store, faults, slow_seconds=0.1) as server:
        code, _, errors = query(server.url)
    assert (code, errors) == (0, [])
    assert collected(tmp_path / "kepler_query") == held(store, WANTED, START, START + 3600)


@pytest.mark.parametrize(("fault", "code", "words"), STAYING)
def test_a_fault_that_stays_is_one_sentence_and_leaves_nothing(
    fault: str, code: int, words: str, query: Run, at_once: None, store: SampleStore, tmp_path: Path
) -> None:
    with prometheus_server(store, [fault]) as server:
        ended, _, errors = query(server.url)
    assert ended == code
    assert len(errors) == 1
    assert words in errors[0]
    assert list(tmp_path.iterdir()) == []


def test_a_fault_in_the_middle_keeps_the_earlier_result(
    query: Run, at_once: None, store: SampleStore, tmp_path: Path
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
    with answering(HttpAnswer(body)) as url:
        ended, _, errors = query(url)
    assert (ended, len(errors)) == (code, 1)
    assert words in errors[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("status", "code"), [(429, 75), (500, 75), (502, 75), (403, 2), (404, 2), (302, 2), (422, 2)])
def test_every_status_has_its_exit_code(status: int, code: int, query: Run, at_once: None) -> None:
    with answering(HttpAnswer(b'{"status":"error","error":"as asked"}', status)) as url:
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


def test_the_pause_that_a_server_asks_for_is_kept(query: Run) -> None:
    times = iter([2])
    with scripted(lambda _: Reply(b"slow down", 429, {"Retry-After": str(next(times, 0))})) as server:
        code, lines, errors = query(server.url)
    assert (code, len(server.requests)) == (75, 4)
    assert [line.rpartition(" Trying again in ")[2] for line in lines] == ["2.0 s.", "0.0 s.", "0.0 s."]
    assert errors == [f"error: Prometheus at {server.url} answered 429: slow down."]


@pytest.mark.parametrize("retry_after", ["3600", format_datetime(datetime(2126, 1, 1, tzinfo=UTC), usegmt=True)])
def test_a_pause_too_long_to_sit_through_is_left_to_the_caller(retry_after: str, query: Run) -> None:
    with scripted(lambda _: Reply(b"maintenance", 503, {"Retry-After": retry_after})) as server:
        code, _, errors = query(server.url)
    assert (code, len(server.requests)) == (75, 1)
    assert "answered 503: maintenance; it asks to come back in " in errors[0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0),
        (" 17 ", 17),
        ("Sat, 14 Nov 2026 00:01:30 GMT", 90),
        ("Saturday, 14-Nov-26 00:01:30 GMT", 90),
        ("Fri, 13 Nov 2026 00:00:00 GMT", 0),  # a clock that goes wrong
        ("", None),
        ("soon", None),
        ("-3", None),
        ("1e3", None),
        ("99999999999999999999", None),
    ],
)
def test_a_pause_is_read_as_seconds_or_as_a_date(header: str, seconds: float | None) -> None:
    assert requested_pause(header, datetime(2026, 11, 14, tzinfo=UTC)) == seconds


@given(st.text())
def test_any_other_pause_says_nothing_or_a_time_to_wait(header: str) -> None:
    assert (requested_pause(header, datetime(2026, 11, 14, tzinfo=UTC)) or 0) >= 0


def test_a_server_without_a_name_in_the_world_may_be_there_later(query: Run, at_once: None) -> None:
    code, _, errors = query("http://prometheus.invalid:9090")
    assert code == 75
    assert "prometheus.invalid:9090 cannot be reached" in errors[0]
