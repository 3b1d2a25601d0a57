"""However a window is cut, every moment of it is asked for once, and answers stay of a size that memory can hold."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_samples import END, START, collected, held
from scripted import Reply, Request, attempts_at_once, error, scripted

from kepler_train.errors import TryAgain, UserError
from kepler_train.query import chunks, download
from kepler_train.query.chunks import (
    LONGEST_CHUNK,
    SAMPLES_PER_CHUNK,
    SHORTEST_CHUNK,
    Chunk,
    MetricDownload,
    split_window,
)
from kepler_train.query.prometheus import Prometheus
from kepler_train.query.samples import query_samples
from kepler_train.query.server_errors import TooMuchAtOnce, TooSlow
from kepler_train.samples.parquet import schema
from kepler_train.simulate.prometheus_api import Api
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.server import HttpAnswer, Server
from kepler_train.simulate.store import SampleStore
from kepler_train.spec import RunSpec

ENERGY = [f"kepler_node_{part}_joules_total" for part in ("package", "core", "uncore", "dram")]
WANTED = [*ENERGY, "kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total"]
MakeSpec = Callable[..., RunSpec]
HOUR = 3600_000  # ms


def metric_download(series: int, step: int = 0) -> MetricDownload:
    return MetricDownload("m", "m", schema("m", []), series, step)


@given(
    st.integers(0, 10_000_000),
    st.integers(0, 40 * HOUR),
    st.integers(1, 100_000),
    st.lists(st.tuples(st.integers(0, 10**7), st.booleans()), max_size=20),
)
def test_chunks_follow_each_other_without_gap_or_overlap(
    start: int, length: int, series: int, answers: list[tuple[int, bool]]
) -> None:
    metric, edges = metric_download(series), [start - 1]
    said = itertools.chain(answers, itertools.repeat((0, False)))
    for chunk, (samples, too_long) in zip(split_window(metric, start, start + length), said, strict=False):
        assert chunk.after == edges[-1] < chunk.until
        edges.append(chunk.until)
        if too_long:
            metric.shorten(chunk.length)
        else:
            metric.adapt(samples, chunk.length)
        assert 1 <= metric.length <= LONGEST_CHUNK
        if chunk.length <= SHORTEST_CHUNK:
            break  # the rest would be minutes one by one
    else:
        assert edges[-1] == start + length


@given(st.integers(0, 10**13), st.integers(1, 10 * HOUR), st.integers(1, 5 * HOUR), st.integers(0, 6))
def test_halves_have_the_points_of_the_whole(after: int, length: int, step: int, times: int) -> None:
    whole = Chunk(metric_download(1, step), after, after + length)
    parts = [whole]
    for _ in range(times):
        parts = [half for part in parts for half in (part.halves(slow=False) or [part])]
    assert [part.after for part in parts] == [after, *(part.until for part in parts[:-1])]
    assert parts[-1].until == after + length
    counted = sum(len(range(first, last + 1, step)) for first, last in (part.points() for part in parts))
    first, last = whole.points()
    assert counted == len(range(first, last + 1, step)) == (after + length) // step - after // step


def test_the_length_of_a_chunk_follows_what_is_found() -> None:
    metric = metric_download(1000)
    assert metric.length == 250_000  # ms: a scrape per second is allowed for until more is known
    metric.adapt(1000 * 250 // 15, metric.length)  # scraped every 15 s, so fifteen times longer, in two steps
    assert metric.length == 1_000_000
    metric.adapt(1000 * 1000 // 15, metric.length)
    assert metric.length == pytest.approx(SAMPLES_PER_CHUNK / 1000 * 15_000, rel=0.001)
    metric.adapt(5 * 1000 * 1000, 1_000_000)  # five scrapes per second: shorter at once, but never below a minute
    assert metric.length == SHORTEST_CHUNK


def test_time_without_samples_is_passed_in_a_request_per_day() -> None:
    metric, requests = metric_download(10_000), 0
    for chunk in split_window(metric, 0, 400 * 24 * HOUR):
        metric.adapt(0, chunk.length)
        requests += 1
    assert (metric.length, requests) == (LONGEST_CHUNK, 406)  # 400, and six until a minute has grown to a day
    metric.adapt(10_000 * 5760, LONGEST_CHUNK)  # 10,000 series every 15 s: shorter at once
    assert metric.length == 375_000


def test_chunks_with_a_step_stay_below_what_servers_allow() -> None:
    window = list(split_window(metric_download(1, step=1000), 0, 30 * HOUR))
    assert max(len(range(first, last + 1, 1000)) for first, last in (chunk.points() for chunk in window)) == 10_000


def test_requests_become_fewer_once_it_is_known_how_often_is_scraped(
    store: SampleStore, spec: MakeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "SAMPLES_PER_CHUNK", 10_000)
    with prometheus_server(store) as server:
        figures = query_samples(spec(server.url), tmp_path)
    assert collected(tmp_path) == held(store, [*WANTED, "kepler_node_platform_joules_total"])
    # Two metrics of about 100 series that are scraped every 15 s, for 8 h: a scrape per second would be 576 requests.
    assert figures["requests"] < 200
    assert (figures["metrics"], figures["retries"], figures["dialect"]) == (7, 0, "legacy")
    assert figures["bytes"] > 20 * figures["samples"]


def test_an_answer_that_memory_cannot_hold_is_asked_for_in_halves(
    store: SampleStore, spec: MakeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "LARGEST_CHUNK", 50_000)
    with prometheus_server(store) as server:
        query_samples(spec(server.url, END - 3 * 3600, END, energy_sources="rapl-sysfs"), tmp_path)
    assert collected(tmp_path) == held(store, WANTED, END - 3 * 3600, END)


def test_an_answer_is_not_read_beyond_its_bound() -> None:
    body = b'{"status":"success","data":{"resultType":"matrix","result":[' + b" " * (8 << 20) + b"]}}"
    with scripted(lambda _: Reply(body)) as server:
        with pytest.raises(TooMuchAtOnce, match="more than 2 MiB in one answer"):
            Prometheus(server.url).raw("m", 0, 60, most=2 << 20)
        assert Prometheus(server.url).raw("m", 0, 60).series == []


def refusing_long_ranges(store: SampleStore, longest: int, answer: HttpAnswer) -> Server:
    """A server that answers ranges of at most `longest` ms."""
    api = Api(store)

    def handle(path: str, given: dict[str, list[str]]) -> HttpAnswer:
        expression = given.get("query", [""])[0]
        if "[" in expression and int(expression.split("[")[1].removesuffix("ms]")) > longest + 1:
            return answer
        return HttpAnswer(api.answer(path, given).encode())

    return Server(handle)


# As each server says it; sources: the servers' own code and reports of their users.
TOO_LARGE = [
    (422, "query processing would load too many samples into memory in query execution"),
    (422, "the query exceeded the maximum number of chunks (limit: 2000000 chunks) (err-mimir-max-chunks-per-query)"),
    (400, "the query time range exceeds the limit (query length: 8h0m0s, limit: 1h0m0s)"),
    (
        400,
        "the query exceeded the aggregated chunks size limit (limit: 1 bytes) (err-mimir-max-chunks-bytes-per-query)",
    ),
    (500, "exceeded chunks limit: rpc error: code = Code(422) desc = limit 5000 violated (got 5001)"),
    (500, "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (9 vs. 4)"),
    (503, "cannot select more than -search.maxSamplesPerQuery=1000000000 samples; possible solutions: …"),
    (422, "the number of matching timeseries exceeds 300000; either narrow down the search or increase -search.max*"),
    (413, "Request Entity Too Large"),
]


@pytest.mark.parametrize(("status", "text"), TOO_LARGE)
def test_every_servers_word_for_too_large_is_understood(status: int, text: str) -> None:
    reply = Reply(error(text), status) if status != 413 else Reply(b"<html>", 413, {"Content-Type": "text/html"})
    with scripted(lambda _: reply) as server, pytest.raises(TooMuchAtOnce):
        Prometheus(server.url).raw("m", 0, 60)
    assert len(server.requests) == 1  # the same request would be refused again


TOO_SLOW = [
    (503, error("query timed out in expression evaluation", "timeout")),
    (504, b"<html>504 Gateway Time-out</html>"),
    (500, error("context deadline exceeded", "internal")),
    (503, error("the query exceeds the timeout -search.maxQueryDuration=30s")),
]


@pytest.mark.parametrize(("status", "body"), TOO_SLOW)
def test_every_servers_word_for_too_slow_is_understood(status: int, body: bytes) -> None:
    with (
        attempts_at_once(2),
        scripted(lambda _: Reply(body, status)) as server,
        pytest.raises(TooSlow),
    ):
        Prometheus(server.url).raw("m", 0, 60)
    assert len(server.requests) == 2  # it might have been a passing trouble


@pytest.mark.parametrize(
    "answer", [HttpAnswer(error(TOO_LARGE[0][1]), 422), HttpAnswer(error("query timed out", "timeout"), 503)]
)
def test_what_is_too_large_or_too_slow_for_the_server_is_asked_for_in_halves(
    answer: HttpAnswer, store: SampleStore, spec: MakeSpec, tmp_path: Path
) -> None:
    with attempts_at_once(2), refusing_long_ranges(store, 1_800_000, answer) as server:
        query_samples(spec(server.url, END - 7200, END, energy_sources="rapl-sysfs"), tmp_path)
    assert collected(tmp_path) == held(store, WANTED, END - 7200, END)


def test_series_too_many_to_list_at_once_are_listed_for_halves_of_the_window(
    store: SampleStore, spec: MakeSpec, tmp_path: Path
) -> None:
    api = Api(store)

    def handle(path: str, given: dict[str, list[str]]) -> HttpAnswer:
        found = HttpAnswer(api.answer(path, given).encode())
        if path.endswith("/series") and found.body.count(b"__name__") > 60:
            return HttpAnswer(error("the number of matching timeseries exceeds 60"), 422)
        return found

    with Server(handle) as server:
        figures = query_samples(spec(server.url), tmp_path)
    expected = held(store, [*WANTED, "kepler_node_platform_joules_total"])
    assert collected(tmp_path) == expected
    assert max(map(len, expected.values())) > 60
    assert figures["series"] == sum(map(len, expected.values()))


def test_a_node_that_is_not_there_is_said(
    store: SampleStore, spec: MakeSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with prometheus_server(store) as server:
        query_samples(spec(server.url, END - 600, END, nodes="node-0,node-7"), tmp_path)
    said = [line for line in capsys.readouterr().out.splitlines() if "warning" in line]
    assert said == ["warning: query: Prometheus has no energy counters of node-7 in the window."]


def test_a_server_that_always_times_out_is_given_up_soon(store: SampleStore, spec: MakeSpec, tmp_path: Path) -> None:
    with (
        attempts_at_once(1),
        refusing_long_ranges(store, 0, HttpAnswer(b"", 504)) as server,
        pytest.raises(TryAgain, match="answered 504"),
    ):
        query_samples(spec(server.url, START, END, feature_groups="BPFOnly"), tmp_path)


def labelled(*names: str) -> dict[str, Any]:
    return {"__name__": ENERGY[0], "instance": "a"} | dict.fromkeys(names, "x")


def test_a_label_that_appears_during_the_query_is_not_lost_in_silence(spec: MakeSpec, tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        if request.path.endswith("/series"):
            return Reply(json.dumps({"status": "success", "data": [labelled()]}).encode())
        result = [{"metric": labelled("time"), "values": [[START, "1"]]}]
        return Reply(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode())

    with scripted(answer) as server, pytest.raises(TryAgain, match=r"with new labels during the query \(time\)"):
        query_samples(spec(server.url, dialect="legacy"), tmp_path)


def test_a_warning_is_said_once_however_often_it_comes(
    spec: MakeSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LONGEST_CHUNK", 3_600_000)

    def answer(request: Request) -> Reply:
        warned = {"status": "success", "warnings": ["a store is out of reach"]}
        if request.path.endswith("/series"):
            return Reply(json.dumps(warned | {"data": [labelled()]}).encode())
        result = [{"metric": labelled(), "values": [[START + 60, "1"]]}]
        return Reply(json.dumps(warned | {"data": {"resultType": "matrix", "result": result}}).encode())

    with scripted(answer) as server:
        query_samples(spec(server.url, dialect="legacy", energy_sources="acpi"), tmp_path)
    assert len(server.requests) > 20
    warnings = [line for line in capsys.readouterr().out.splitlines() if "warns" in line]
    assert warnings == [f"warning: Prometheus at {server.url} warns: a store is out of reach"]


def test_a_request_that_is_wrong_is_not_asked_in_halves(spec: MakeSpec, tmp_path: Path) -> None:
    with (
        scripted(lambda _: Reply(error("parse error: unexpected character", "bad_data"), 400)) as server,
        pytest.raises(UserError, match="answered 400: parse error"),
    ):
        query_samples(spec(server.url, dialect="legacy"), tmp_path)
    assert len(server.requests) <= len(WANTED) + 1  # the series of each metric, at most once
