"""The simulated Prometheus without a real one beside it: its faults, its limits, its errors."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import requests

from kepler_train.errors import UserError
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.promql import format_millis, format_number
from kepler_train.simulate.store import SampleStore, StoredSeries, read_store


def small_store() -> SampleStore:
    """`up` of two nodes, every 15 s from 0 to 60 s."""
    times = np.arange(0, 60_001, 15_000, dtype=np.int64)
    return SampleStore(
        StoredSeries({"__name__": "up", "instance": node}, times, np.arange(5.0) + offset)
        for node, offset in (("b", 0.5), ("a", 10.0))
    )


def get(url: str, path: str = "query", **parameters: Any) -> requests.Response:
    return requests.get(f"{url}/api/v1/{path}", params=parameters, timeout=10)


def test_an_instant_query_answers_the_newest_sample_at_that_moment() -> None:
    with prometheus_server(small_store()) as server:
        answer = get(server.url, query='up{instance="a"}', time=44.9)
    assert answer.text == (
        '{"status":"success","data":{"resultType":"vector","result":'
        '[{"metric":{"__name__":"up","instance":"a"},"value":[44.900,"12"]}]}}'
    )


def test_on_loopback_it_answers_to_names_of_loopback_only() -> None:
    with prometheus_server(small_store()) as server:
        port = server.url.rpartition(":")[2]
        hosts = [
            f"localhost:{port}",
            f"[::1]:{port}",
            f"evil.example:{port}",
            f"127.0.0.1.evil.example:{port}",
            "[",
            "",
        ]
        url = f"{server.url}/api/v1/query?query=up&time=30"
        answers = [requests.get(url, headers={"Host": host}, timeout=10) for host in hosts]
    assert [answer.status_code for answer in answers] == [200, 200, 403, 403, 403, 403]
    assert answers[2].text == "This server answers to its own address only."


def test_on_another_address_it_answers_to_any_name() -> None:
    with prometheus_server(small_store(), host="0.0.0.0") as server:  # noqa: S104
        url = f"http://127.0.0.1:{server.url.rpartition(':')[2]}/api/v1/query?query=up&time=30"
        assert requests.get(url, headers={"Host": "node-0.example"}, timeout=10).ok


def test_a_range_query_repeats_a_sample_until_it_is_five_minutes_old() -> None:
    with prometheus_server(small_store()) as server:
        answer = get(server.url, "query_range", query='up{instance="b"}', start=45, end=645, step=150).json()
    assert answer["data"]["result"][0]["values"] == [[45, "3.5"], [195, "4.5"], [345, "4.5"]]


def test_a_posted_form_is_answered_like_a_query_string() -> None:
    with prometheus_server(small_store()) as server:
        form = {"query": "up", "time": "60"}
        posted = requests.post(f"{server.url}/api/v1/query", data=form, timeout=10)
        assert posted.text == get(server.url, **form).text
    assert [series["value"] for series in posted.json()["data"]["result"]] == [[60, "14"], [60, "4.5"]]


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        ("unavailable", 503, "Service Unavailable\n"),
        ("unauthorized", 401, "Unauthorized\n"),
        ("too-many-samples", 422, '"errorType":"execution","error":"query processing would load too many samples'),
        ("html", 200, "<!DOCTYPE html>"),
    ],
)
def test_a_fault_is_the_answer_of_every_request(fault: str, status: int, text: str) -> None:
    with prometheus_server(small_store(), [fault]) as server:
        for _ in range(3):
            answer = get(server.url, query="up", time=60)
            assert answer.status_code == status
            assert text in answer.text


def test_a_fault_with_a_number_strikes_that_many_requests() -> None:
    with prometheus_server(small_store(), ["unavailable:2"]) as server:
        statuses = [get(server.url, query="up", time=60).status_code for _ in range(4)]
    assert statuses == [503, 503, 200, 200]


def test_a_truncated_answer_promises_more_than_it_sends() -> None:
    with (
        prometheus_server(small_store(), ["truncated"]) as server,
        pytest.raises((requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError)),
    ):
        get(server.url, query="up", time=60)


def test_a_slow_server_answers_late_but_right() -> None:
    with prometheus_server(small_store(), ["slow:1"], slow_seconds=0.3) as server:
        began = time.monotonic()
        assert get(server.url, query="up", time=60).status_code == 200
        assert time.monotonic() - began >= 0.3


def test_health_is_answered_whatever_the_fault() -> None:
    with prometheus_server(small_store(), ["unavailable"]) as server:
        assert requests.get(f"{server.url}/-/ready", timeout=5).text == "Prometheus Server is Ready.\n"


def test_a_query_may_load_as_many_samples_as_allowed_and_not_one_more() -> None:
    for allowed, status in ((10, 200), (9, 422)):
        with prometheus_server(small_store(), max_samples=allowed) as server:
            assert get(server.url, query="up[2m]", time=60).status_code == status


@pytest.mark.parametrize(
    "query",
    ["rate(up[5m])", "sum(up)", "1", "up + 1", "up offset 5m", "up{", "up{a=}", 'up{a="b"c="d"}', "up[5]", "[5m]",
     '{a=~"("}', "", "{}", "up up"],
)  # fmt: skip
def test_what_is_no_selector_is_bad_data(query: str) -> None:
    with prometheus_server(small_store()) as server:
        answer = get(server.url, query=query, time=60)
    assert answer.status_code == 400
    assert answer.json()["status"] == "error"
    assert answer.json()["errorType"] == "bad_data"


def test_an_unknown_fault_names_the_nearest_known_one() -> None:
    with pytest.raises(UserError, match="did you mean 'unavailable'"):
        prometheus_server(small_store(), ["unavailabel"])
    with pytest.raises(UserError, match="write slow:3 for the first three requests"):
        prometheus_server(small_store(), ["slow:often"])


def test_a_taken_port_is_said_so() -> None:
    with prometheus_server(small_store()) as server, pytest.raises(UserError, match="Cannot listen on"):
        prometheus_server(small_store(), port=int(server.url.rsplit(":", 1)[1]))


def test_numbers_are_written_as_go_writes_them() -> None:
    numbers = {3.0: "3", 0.1: "0.1", 1e20: "100000000000000000000", 1e21: "1e+21", 5e-6: "0.000005", 1e-7: "1e-07"}
    assert {value: format_number(value) for value in numbers} == numbers
    assert [format_number(value) for value in (float("nan"), float("inf"), float("-inf"))] == ["NaN", "+Inf", "-Inf"]
    assert [format_millis(ms) for ms in (1000, 1500, 1005)] == ["1", "1.500", "1.005"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('up{a="b"} 1 1\n', "does not end with '# EOF'"),
        ('up{a="b"} 1\n# EOF\n', "line 1: a sample needs a value and a time"),
        ('up{a="b"} one 1\n# EOF\n', "has a sample that is not a number"),
        ('up{a="b"} 1 2\nup{a="b"} 1 1\n# EOF\n', "not in order of time"),
    ],
)
def test_a_file_that_cannot_be_served_is_said_so(tmp_path: Any, text: str, sentence: str) -> None:
    (tmp_path / "h.om").write_text(text)
    with pytest.raises(UserError) as refused:
        read_store(tmp_path / "h.om")
    assert sentence in str(refused.value)


def test_labels_with_quotes_and_newlines_survive_the_file(tmp_path: Any) -> None:
    (tmp_path / "h.om").write_text('up{a="x\\"y\\nz\\\\n"} 1 1.5\n# EOF\n')
    (series,) = read_store(tmp_path / "h.om").series
    assert series.labels["a"] == 'x"y\nz\\n'
    assert series.times.tolist() == [1500]
