"""The simulated Prometheus against the real one, on the same data: equal to the byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import read_store

START = 1_794_614_400
END = START + 3 * 3600
PACKAGE = "kepler_node_package_joules_total"
WHOLE = {"start": START, "end": END + 600, "step": 15}

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def simulated(history_file: Path) -> Iterator[str]:
    with prometheus_server(read_store(history_file), max_samples=20_000) as server:
        yield server.url


def asked(url: str, path: str, parameters: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    answer = requests.get(f"{url}/api/v1/{path}", params=parameters, timeout=30)
    return answer.status_code, json.loads(answer.text, parse_int=str, parse_float=str)  # digits as they came


def in_order(body: dict[str, Any]) -> str:
    """Prometheus promises no order of an instant vector: sort series, keep every byte of them."""
    data = body.get("data")
    if isinstance(data, dict):
        data["result"] = sorted(data["result"], key=json.dumps)
    elif isinstance(data, list):
        body["data"] = sorted(data, key=json.dumps)
    return json.dumps(body)


ANSWERED = [
    ("query", {"query": f"{PACKAGE}[10m]", "time": START + 3600}),
    ("query", {"query": f"{PACKAGE}[15s]", "time": START + 60}),  # closed at both ends: two samples
    ("query", {"query": f'{PACKAGE}{{mode="dynamic",instance!="node-1"}}', "time": START + 1800}),
    ("query", {"query": PACKAGE, "time": START - 1}),
    ("query", {"query": PACKAGE, "time": END + 299.999}),
    ("query", {"query": PACKAGE, "time": END + 300}),  # the lookback is closed too
    ("query", {"query": PACKAGE, "time": END + 300.001}),
    ("query", {"query": 'kepler_container_cache_miss_total{pod_name=~"stress.*",container_name!~".*-c.*"}[20m]',
               "time": "2026-11-14T02:00:00Z"}),
    ("query", {"query": "no_such_metric", "time": END}),
    ("query", {"query": ' { __name__ = "kepler_node_node_info" , job = `kepler` , } ', "time": END}),
    ("query_range", {"query": PACKAGE, **WHOLE}),
    ("query_range", {"query": f'{PACKAGE}{{instance="node-0"}}', "start": START + 0.5, "end": END, "step": 7}),
    ("query_range", {"query": 'kepler_node_platform_joules_total{mode="idle"}', **WHOLE, "step": "1m30s"}),
    ("query_range", {"query": 'kepler_container_bpf_cpu_time_ms_total{container_namespace="stress"}', **WHOLE}),
    ("query_range", {"query": "kepler_container_cpu_instructions_total{pod_name='etcd'}", **WHOLE}),
    ("query_range", {"query": "kepler_node_cpu_scaling_frequency_hertz", **WHOLE, "step": 60}),
    ("series", {"match[]": "kepler_node_node_info", "start": START, "end": END}),
    ("series", {"match[]": ['{__name__=~"kepler_node_.*_joules_total"}', PACKAGE], "start": START, "end": END}),
    ("series", {"match[]": "kepler_container_cpu_cycles_total"}),
    ("labels", {"start": START, "end": END}),
    ("labels", {"match[]": PACKAGE}),
    ("label/__name__/values", {}),
    ("label/instance/values", {"start": START, "end": END}),
    ("label/nothing/values", {}),
]  # fmt: skip

REFUSED = [
    ("query", {"query": ""}),
    ("query", {"query": '{job=""}'}),
    ("query", {"query": PACKAGE, "time": "yesterday"}),
    ("query_range", {"query": PACKAGE, "start": START, "end": END, "step": "1e300"}),
    ("query_range", {"query": f"{PACKAGE}[5m]", **WHOLE}),
    ("query_range", {"query": PACKAGE, "start": START, "end": END, "step": 0}),
    ("query_range", {"query": PACKAGE, "start": START, "end": END, "step": "often"}),
    ("query_range", {"query": PACKAGE, "start": END, "end": START, "step": 15}),
    ("query_range", {"query": PACKAGE, "end": START, "step": 15}),
    ("query_range", {"query": PACKAGE, "start": 0, "end": 11_001, "step": 1}),
    ("query_range", {"query": '{__name__=~"kepler_container.*"}', **WHOLE}),
    ("query", {"query": '{__name__=~"kepler_container.*"}[3h]', "time": END}),
    ("series", {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "parameters"), ANSWERED, ids=lambda p: str(p.get("query", p)) if p != str(p) else p)
def test_an_answer_is_the_one_prometheus_gives(
    real_prometheus: str, simulated: str, path: str, parameters: dict[str, Any]
) -> None:
    status, body = asked(real_prometheus, path, parameters)
    assert status == 200
    assert asked(simulated, path, parameters)[0] == 200
    assert in_order(asked(simulated, path, parameters)[1]) == in_order(body)


@pytest.mark.parametrize(("path", "parameters"), REFUSED, ids=lambda p: str(p) if p != str(p) else p)
def test_a_refusal_is_the_one_prometheus_gives(
    real_prometheus: str, simulated: str, path: str, parameters: dict[str, Any]
) -> None:
    status, body = asked(real_prometheus, path, parameters)
    assert status in (400, 422)
    assert asked(simulated, path, parameters) == (status, body)


def test_eleven_thousand_points_are_the_last_that_are_answered(real_prometheus: str, simulated: str) -> None:
    parameters = {"query": PACKAGE + '{mode="idle",package="0"}', "start": START, "end": START + 11_000, "step": 1}
    real, own = asked(real_prometheus, "query_range", parameters), asked(simulated, "query_range", parameters)
    assert real == own
