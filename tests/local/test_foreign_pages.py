"""Pages of other origins in the browser of a person who is logged in: they read nothing and trigger nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from browsing import FOREIGN, log_in
from running_stack import DAG

from kepler_train.local.stack import RunningStack

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

READ = """async ([url, options]) => {
    try { const answer = await fetch(url, options); return [answer.status, await answer.text()] }
    catch (error) { return [0, String(error)] }
}"""
FORM = """url => new Promise(resolve => {
    const frame = Object.assign(document.createElement('iframe'), {name: 'inside', onload: resolve});
    const form = Object.assign(document.createElement('form'), {method: 'POST', action: url, target: 'inside'});
    form.enctype = 'text/plain';
    const halves = {name: '{"logical_date": null, "conf": {}, "note": "', value: '"}'};
    form.append(Object.assign(document.createElement('input'), halves));
    document.body.append(frame, form);
    form.submit();
})"""
FRAME = """url => new Promise(resolve => {
    const frame = Object.assign(document.createElement('iframe'), {src: url, onload: resolve});
    document.body.append(frame);
})"""


@pytest.fixture(scope="module")
def stack(running_stack: RunningStack) -> RunningStack:
    return running_stack


@pytest.fixture(scope="module")
def foreign_port() -> Iterator[int]:
    """A web server of somebody else on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>A nice game</title><body>")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def logged_in(chromium: Browser, stack: RunningStack) -> Iterator[BrowserContext]:
    """The browser of a person who is logged in."""
    with chromium.new_context() as context:
        context.set_default_timeout(60_000)
        page = context.new_page()
        log_in(page, stack)
        page.close()
        yield context


def runs(stack: RunningStack) -> int:
    return int(stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"])


def test_a_person_logs_in_with_the_password_and_sees_the_dags(chromium: Browser, stack: RunningStack):
    with chromium.new_context() as context:
        context.set_default_timeout(60_000)
        page = context.new_page()
        log_in(page, stack, password="wrong")
        page.get_by_text("Invalid credentials").first.wait_for()
        assert [cookie["name"] for cookie in context.cookies()] == []
        log_in(page, stack)
        page.goto(f"{stack.airflow_url}/dags")
        page.get_by_text(DAG).first.wait_for()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", FOREIGN])
def test_a_page_of_another_server_reads_nothing_and_triggers_nothing(
    logged_in: BrowserContext, stack: RunningStack, foreign_port: int, host: str
):
    before = runs(stack)
    page = logged_in.new_page()
    page.goto(f"http://{host}:{foreign_port}/")
    trigger = f"{stack.airflow_url}/api/v2/dags/{DAG}/dagRuns"
    body = '{"logical_date": null, "conf": {}}'
    with_cookies: dict[str, Any] = {"credentials": "include"}
    attempts: list[tuple[str, dict[str, Any]]] = [
        (f"{stack.airflow_url}/api/v2/dags", with_cookies),
        (f"{stack.airflow_url}/ui/config", with_cookies),
        (f"{stack.airflow_url}/api/v2/monitor/health", {}),
        (f"{stack.airflow_url}/auth/token", {"method": "POST", "body": "username=admin&password=admin"}),
        (trigger, {**with_cookies, "method": "POST", "body": body, "headers": {"Content-Type": "application/json"}}),
        (trigger, {**with_cookies, "method": "POST", "body": body, "headers": {"Content-Type": "text/plain"}}),
        (f"{stack.s3_url}/private", with_cookies),
    ]
    assert [page.evaluate(READ, [url, options]) for url, options in attempts] == [
        [0, "TypeError: Failed to fetch"] for _ in attempts
    ]
    # Without asking to read the answer a page may send more; and a form asks nobody.
    blind = {**with_cookies, "mode": "no-cors", "method": "POST", "body": body}
    assert page.evaluate(READ, [trigger, blind]) == [0, ""]
    page.evaluate(FORM, trigger)
    page.evaluate(FRAME, f"{stack.airflow_url}/dags/{DAG}")
    assert f"{stack.airflow_url}/dags/{DAG}" not in [frame.url for frame in page.frames]
    assert runs(stack) == before
    page.close()


def test_a_name_of_somebody_else_that_leads_here_shows_nothing(logged_in: BrowserContext, stack: RunningStack):
    before = runs(stack)
    page = logged_in.new_page()
    here = f"http://{FOREIGN}:{stack.airflow_url.rpartition(':')[2]}"
    answer = page.goto(f"{here}/")
    assert answer
    assert answer.status == 403
    assert "This Airflow answers to" in page.content()
    body = {"method": "POST", "body": "{}", "headers": {"Content-Type": "application/json"}}
    for path, options in (
        ("/api/v2/dags", {}),
        ("/api/v2/monitor/health", {}),
        ("/auth/token", {}),
        ("/auth/token", body),
        (f"/api/v2/dags/{DAG}/dagRuns", body),
    ):
        assert page.evaluate(READ, [here + path, options])[0] == 403, path
    assert runs(stack) == before
    page.close()


def test_the_same_person_can_use_the_pages_of_the_stack_itself(logged_in: BrowserContext, stack: RunningStack):
    page: Page = logged_in.new_page()
    page.goto(f"{stack.airflow_url}/dags")
    page.get_by_text(DAG).first.wait_for()
    status, text = page.evaluate(READ, [f"{stack.airflow_url}/api/v2/dags", {}])
    assert (status, DAG in text) == (200, True)
    page.close()
