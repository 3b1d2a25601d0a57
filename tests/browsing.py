"""Debian's Chromium for tests of pages, and a person who logs in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kepler_train.local.stack import RunningStack

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOREIGN = "evil.example"
"""A name of somebody else that the browser resolves to this machine, as after DNS rebinding."""
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1",
]


@contextmanager
def browser() -> Iterator[Browser]:
    """Run Chromium, or skip the test where it is not installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, headless=True, args=_FLAGS)
        yield started
        started.close()


def log_in(page: Page, stack: RunningStack, password: str | None = None) -> None:
    """Fill the login page of the stack's Airflow as a person does, with the password of its file or another."""
    page.goto(f"{stack.airflow_url}/")
    page.get_by_label("Username").fill(stack.login.user)
    page.locator("input[type=password]").fill(password or stack.login.password)
    with page.expect_response(lambda response: response.url.endswith("/auth/token")):
        page.get_by_role("button", name="Sign in").click()
    if password is None:
        page.wait_for_url(lambda url: "/auth/login" not in url)
