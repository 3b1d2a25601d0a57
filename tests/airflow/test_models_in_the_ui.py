"""Published models inside the UI of a real Airflow, in a browser: seen, compared, and rolled back by a click."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests
from browsing import log_in
from published_pipelines import published

from kepler_train.local.stack import RunningStack
from kepler_train.publish.ledger import read_versions
from kepler_train.publish.target import Target, open_target

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def target(running_stack: RunningStack, tmp_path_factory: pytest.TempPathFactory) -> Target:
    """Three nights of a pipeline where the stack publishes."""
    target = open_target(str(running_stack.home / "workspace" / "models"))
    work: Path = tmp_path_factory.mktemp("nights")
    umask = os.umask(0o077)  # as the stack's own processes: other users of the machine see nothing of it
    try:
        for night, mae in ((1, 3.0), (2, 2.0), (3, 2.5)):
            published(target, work, "three-nights", night, mae)
    finally:
        os.umask(umask)
    return target


@pytest.fixture
def page(chromium: Browser, running_stack: RunningStack, target: Target) -> Iterator[Page]:
    with chromium.new_context() as context:
        context.set_default_timeout(60_000)
        page = context.new_page()
        log_in(page, running_stack)
        yield page


def models_frame(page: Page) -> Frame:
    """The page of models that Airflow shows inside its own."""
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="Models").wait_for()
    return next(inner for inner in page.frames if inner is not page.main_frame)


def test_a_person_finds_the_models_in_the_navigation_and_goes_back_to_an_earlier_one(page: Page, target: Target):
    first, second, third = (record.version for record in read_versions(target, "three-nights").versions)
    assert target.latest("three-nights") == third
    page.get_by_role("link", name="Models").first.click()
    models = models_frame(page)
    models.get_by_role("link", name="three-nights").click()
    row = models.get_by_role("row").filter(has_text=second.split("-")[0])
    row.get_by_role("button", name="Make latest").click()
    row.get_by_text("latest", exact=True).wait_for()
    assert target.latest("three-nights") == second
    models.get_by_role("button", name="Compare").click()
    models.get_by_role("heading", name="two versions").wait_for()
    assert first.split("-")[0] not in models.locator("main").inner_text()


def test_without_a_login_the_real_server_shows_no_model(running_stack: RunningStack, target: Target):
    answer = requests.get(f"{running_stack.airflow_url}/kepler-models/", timeout=60)
    assert answer.status_code == 401
    assert "three-nights" not in answer.text
