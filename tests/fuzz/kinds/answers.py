"""Answers of Prometheus: bodies that are decoded, and whole HTTP responses that the client receives.

| form | what is called |
|---|---|
| `body` | `decode_answer` |
| `series`, `instant`, `raw`, `range` | the client's method, with this response |
| `machines` | `machines_at` |
| `query-series`, `query-raw` | the query of a window, where one of its two requests has this response |
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from fuzz.case import Case
from fuzz.http_server import server_of_process
from fuzz.json_mutations import mutate_json
from fuzz.mutations import WORDS, mutate_bytes
from kepler_train.errors import TryAgain
from kepler_train.query import retry
from kepler_train.query.machines import machines_at
from kepler_train.query.prometheus import Prometheus
from kepler_train.query.samples import query_samples
from kepler_train.samples.decoding import Truncated, decode_answer
from kepler_train.spec import RunSpec

ALLOWED = ("loopback",)
_START = 1_794_614_400  # 2026-11-14T00:00:00Z
_HEADERS = [
    *(b"Location: http://127.0.0.1:1/api/v1/query", b"Location: //[::1", b"Location: \xff", b"Location: http://u:p@h/"),
    *(b"Retry-After: 999999999", b"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", b"Retry-After: -1", b"Retry-After: x"),
    *(b"Content-Encoding: gzip", b"Content-Encoding: br", b"Transfer-Encoding: chunked", b"Content-Length: 9999999"),
    *(
        b"Content-Length: -1",
        b"Content-Type: text/html",
        b"Content-Type: \xff",
        b"Set-Cookie: a=b",
        b"X: " + b"a" * 70_000,
    ),
]
_STATUS = [b"200 OK", b"301 Moved", b"302 Found", b"400 Bad", b"401 No", b"403 No", b"404 No", b"405 No", b"422 Much"]
_MORE_STATUS = [
    b"408 Slow",
    b"413 Large",
    b"429 Busy",
    b"500 Error",
    b"503 Later",
    b"504 Slow",
    b"999 Odd",
    b"100 Go",
    b"204 No",
    b"x",
]


def seeds(folder: Path) -> list[Case]:
    """Return what a server with one node answers."""
    labels = {"instance": "node-1", "container_id": "c1", "mode": "dynamic", "source": "rapl-sysfs"}
    metrics = ("kepler_node_package_joules_total", "kepler_container_bpf_cpu_time_ms_total")
    series = [{"__name__": name, **labels} for name in metrics]
    values = [[_START + 15 * number, str(1000.5 + 780 * number)] for number in range(12)]
    matrix = _success({"resultType": "matrix", "result": [{"metric": one, "values": values} for one in series]})
    vector = _success({"resultType": "vector", "result": [{"metric": one, "value": values[0]} for one in series]})
    machine = {"model_name": "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "vendor_id": "GenuineIntel", "processor": "0"}
    about = [{"__name__": "kepler_node_cpu_info", **labels, **machine, "physical_id": "0", "core_id": "0"}]
    about += [{"__name__": "node_memory_MemTotal_bytes", "instance": "node-1"}, {**series[0]}]
    machines = _success(
        {"resultType": "vector", "result": [{"metric": one, "value": [_START, "6.7e10"]} for one in about]}
    )
    bodies = {"series": _success(series), "instant": vector, "raw": matrix, "range": matrix, "machines": machines}
    whole = [Case(form, _response(body)) for form, body in bodies.items()]
    query = [Case("query-series", _response(bodies["series"])), Case("query-raw", _response(matrix))]
    error = json.dumps({"status": "error", "errorType": "execution", "error": "query timed out in it"}).encode()
    return [*[Case("body", matrix)] * 4, *whole, *query, Case("raw", _response(error, b"503 Later"))]


def _success(data: Any) -> bytes:
    return json.dumps({"status": "success", "data": data}, separators=(",", ":")).encode()


def _response(body: bytes, status: bytes = b"200 OK", *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Type: application/json", b"Connection: close", *headers]
    if not any(header.startswith((b"Content-Length", b"Transfer")) for header in headers):
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def mutate(case: Case, random: Random) -> Case:
    """Return a body or a response with a changed body, status or headers, or with changed bytes."""
    if case.form == "body":
        return Case(case.form, mutate_json(case.content, random))
    if random.random() < 0.1:
        return Case(case.form, mutate_bytes(case.content, random, [*WORDS, *_HEADERS]))
    body = case.content.partition(b"\r\n\r\n")[2]
    if random.random() < 0.85:
        body = mutate_json(body, random)
    status = random.choice([*_STATUS, *_MORE_STATUS]) if random.random() < 0.15 else b"200 OK"
    headers = random.sample(_HEADERS, random.choice((0, 0, 0, 0, 0, 1, 2)))
    return Case(case.form, _response(body, status, *headers))


def call(case: Case, seeds: Path, work: Path) -> None:
    """Decode the body, or let the client have the response."""
    if case.form == "body":
        try:
            decode_answer(case.content)
        except Truncated:  # the client tries again
            raise TryAgain("The answer breaks off.") from None
        return
    server = server_of_process()
    server.answers = {"": case.content}
    client = Prometheus(server.url)
    with patch.multiple(retry, ATTEMPTS=1, FIRST_PAUSE=0, JITTER=0):
        match case.form:
            case "series":
                client.series("up", _START, _START + 60)
            case "instant":
                client.instant("up", _START)
            case "raw":
                client.raw("up", _START, _START + 60)
            case "range":
                client.resampled("up", _START, _START + 60, 15)
            case "machines":
                machines_at(client, _START)
            case form:
                _query(form, case.content, work)


def _query(form: str, response: bytes, work: Path) -> None:
    """Query a window of a server that has one node, but for the response in question."""
    server = server_of_process()
    usual = {one.form: one.content for one in globals()["seeds"](work)}
    server.answers = {"series": usual["query-series"], "query": usual["query-raw"], "query_range": usual["query-raw"]}
    server.answers["series" if form == "query-series" else "query"] = response
    window = {"start": datetime.fromtimestamp(_START, UTC), "end": datetime.fromtimestamp(_START + 180, UTC)}
    query_samples(RunSpec(prometheus=server.url, dialect="legacy", **window), work / "out")
