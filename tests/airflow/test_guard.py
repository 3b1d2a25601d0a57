"""The guard of the embedded stack's API server: which requests it passes on."""

import asyncio
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kepler_airflow.guard import Guard
from kepler_airflow.secret_guard import SecretGuard

PLUGIN = Path(__file__).parents[2] / "plugins" / "kepler_train_plugin.py"
HOSTS = ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"]


def ask(*headers, kind="http"):
    """What the guard, and an application behind it that always says yes, answers to a request."""
    sent = []

    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-from", b"airflow")]})
        await send({"type": "http.response.body", "body": b"yes"})

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "headers": [(name.encode(), value.encode()) for name, value in headers]}
    with ThreadPoolExecutor(1) as thread:  # a browser of other tests may have a loop in this one
        thread.submit(lambda: asyncio.run(Guard(application, HOSTS)(scope, None, send))).result()
    return sent


@pytest.mark.parametrize("host", [*HOSTS, "LocalHost:8080"])
def test_what_is_addressed_to_it_is_passed_on_and_cannot_be_framed_by_others(host):
    start, body = ask(("host", host))
    assert (start["status"], body["body"]) == (200, b"yes")
    assert start["headers"] == [(b"x-from", b"airflow"), (b"content-security-policy", b"frame-ancestors 'self'")]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("host", "")],
        [("host", "evil.example:8080")],
        [("host", "localhost")],
        [("host", "localhost:8081")],
        [("host", "localhost:8080.evil.example")],
        [("host", "localhost:8080"), ("host", "evil.example")],
        [("host", "localhost:8080"), ("origin", "null")],
        [("host", "localhost:8080"), ("origin", "http://127.0.0.1:8080")],
        [("host", "localhost:8080"), ("origin", "http://localhost:9000")],
        [("host", "localhost:8080"), ("origin", "https://localhost:8080")],
        [("host", "localhost:8080"), ("origin", "http://localhost:8080"), ("origin", "http://evil.example")],
    ],
)
def test_what_is_addressed_to_others_or_comes_from_their_pages_is_refused(headers):
    start, body = ask(*headers)
    assert start["status"] == 403
    assert body["body"] == (
        b"This Airflow answers to 127.0.0.1:8080, [::1]:8080, localhost:8080 only, and to pages of its own.\n"
    )


def test_its_own_pages_are_answered():
    assert ask(("host", "localhost:8080"), ("origin", "http://localhost:8080"))[0]["status"] == 200


def test_a_websocket_of_a_foreign_page_is_closed():
    refused = ask(("host", "localhost:8080"), ("origin", "http://evil.example"), kind="websocket")
    assert refused == [{"type": "websocket.close", "code": 1008}]


def test_an_airflow_that_is_not_the_embedded_one_gets_no_guard(monkeypatch):
    monkeypatch.delenv("KEPLER_TRAIN_ALLOWED_HOSTS", raising=False)
    [alone] = runpy.run_path(str(PLUGIN))["KeplerTrainPlugin"].fastapi_root_middlewares
    assert alone["middleware"] is SecretGuard
    monkeypatch.setenv("KEPLER_TRAIN_ALLOWED_HOSTS", ",".join(HOSTS))
    [_, middleware] = runpy.run_path(str(PLUGIN))["KeplerTrainPlugin"].fastapi_root_middlewares
    assert (middleware["middleware"], middleware["kwargs"]) == (Guard, {"hosts": HOSTS})


def ask_for_a_run(*pieces, path="/api/v2/dags/train/dagRuns", method="POST"):
    """The status and the body of the answer to a request that comes in pieces; the application repeats what it got."""
    sent, left = [], [{"type": "http.request", "body": body, "more_body": True} for body in pieces]
    left[-1]["more_body"] = False

    async def application(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def receive():
        return left.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": []}
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(SecretGuard(application)(scope, receive, send))).result()
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.parametrize(("path", "part"), [("dags/train/dagRuns", "conf"), ("backfills", "dag_run_conf")])
@pytest.mark.parametrize("secret", [b"s3://AKIA:hunter22@b/x", b"http://h/?token=hunter22"])
def test_a_run_with_a_secret_in_its_parameters_is_refused_without_a_word_of_it(path, part, secret):
    status, body = ask_for_a_run(b'{"%s": {"publish_to"' % part.encode(), b': "%s"}}' % secret, path=f"/api/v2/{path}")
    assert status == 400
    assert b"publish_to: credentials do not belong into an address" in body
    assert b"hunter22" not in body


@pytest.mark.parametrize("body", [b'{"conf": {"publish_to": "s3://b/x"}}', b"{}", b"no JSON", b'{"conf": 3}', b"[]"])
def test_any_other_request_for_a_run_reaches_airflow_as_it_came(body):
    assert ask_for_a_run(body[:1], body[1:]) == (200, body)
    assert ask_for_a_run(b'{"conf": {"publish_to": "s3://A:b@c"}}', path="/api/v2/variables")[0] == 200


def test_a_request_without_end_is_refused():
    assert ask_for_a_run(*[b"x" * (1 << 19)] * 4)[0] == 400
