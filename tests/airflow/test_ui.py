"""What a person sees in the browser."""

import shutil

import pytest
from walk import DAG

CHROMIUM = shutil.which("chromium")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def page():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(60_000)
        yield page
        browser.close()


def test_the_run_is_green_task_by_task(page, stack, good):
    page.goto(f"{stack.airflow_url}/dags/{DAG}/runs/{good}")
    for task in ("plan", "query", "train", "publish"):
        page.get_by_text(task, exact=True).first.wait_for()
    page.get_by_text("Success", exact=False).first.wait_for()


def test_the_trigger_form_has_the_run_parameters_in_their_sections_and_starts_a_run_as_it_stands(page, stack):
    before = stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"]
    page.goto(f"{stack.airflow_url}/dags/{DAG}")
    page.get_by_role("button", name="Trigger").first.click()
    form = page.get_by_role("dialog")
    for section in ("What to train", "What to collect", "How to judge", "Where to publish"):
        form.get_by_text(section).first.wait_for()
    form.get_by_role("button", name="Trigger").click()  # waits until it can be clicked
    form.wait_for(state="hidden")
    assert stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"] == before + 1


def test_the_task_log_reads_as_the_step_spoke(page, stack, good):
    page.goto(f"{stack.airflow_url}/dags/{DAG}/runs/{good}/tasks/validate")
    page.get_by_text("feature group BPFOnly is valid").first.wait_for()
