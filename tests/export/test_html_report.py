"""The report as one HTML page: what it shows, that it needs nothing else, and that names stay names."""

from __future__ import annotations

import re
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_report import evaluation

from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.export.html_report import HTML_REPORT, write_html_report
from kepler_train.export.pictures import PLOT, pictured
from kepler_train.isolate.outcome import Isolation
from kepler_train.spec import RunSpec
from kepler_train.validate.findings import LOST, Finding
from kepler_train.validate.outcome import GroupVerdict, Verdict

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
MACHINE = {"processor": "intel_xeon", "cores": 96, "chips": 2, "memory": 377, "frequency": None}


@pytest.fixture
def spec() -> RunSpec:
    window = {"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T01:00:00Z"}
    return RunSpec.model_validate({"pipeline": "mine", "machine_id": "nx12", "node_type": 0, **window})


def page(folder: Path, spec: RunSpec, judged: Evaluation, verdict: Verdict | None = None) -> Path:
    for table in pictured(judged):
        for name in (PLOT, table.error_map, table.power_curve):
            (folder / name).write_bytes(b"a picture")
    none = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
    write_html_report(folder, spec, judged, none, "mine/run", verdict, MACHINE)
    return folder / HTML_REPORT


class Texts(HTMLParser):
    """The texts of a page, and every address that it would fetch."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.addresses: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.texts += [data.strip()] if data.strip() else []


def test_the_page_tells_the_machine_the_data_the_errors_and_what_failed(tmp_path: Path, spec: RunSpec) -> None:
    verdict = Verdict(
        dialect="legacy",
        nodes=["a"],
        health={},
        groups={"CounterOnly": GroupVerdict(valid=False, missing={}, reasons={"a": "no cpu_cycles"}, left_out={})},
        warnings=[Finding(LOST, "a", "12 % of the scrapes are missing")],
        metrics={},
    )
    texts = " ".join(Texts(page(tmp_path, spec, evaluation(spec, {"Good": -1.0, "Poor": 12.0}), verdict)).texts)
    assert "nx12: intel_xeon, 96 CPUs, 2 sockets, 377 GiB; node type 0" in texts
    assert "lost data , a: 12 % of the scrapes are missing." in texts
    assert "CounterOnly: no cpu_cycles (a)" in texts
    assert "Good BPFOnly 1.00 (2.0 %)" in texts
    assert "Broken cannot learn package: a | b." in texts
    assert "rapl-sysfs/AbsPower/BPFOnly/Poor blocked 12.0 W and 24.0 %, above 10 W and 20 %" in texts


def test_the_page_fetches_nothing(tmp_path: Path, spec: RunSpec) -> None:
    found = Texts(page(tmp_path, spec, evaluation(spec, {"Good": -1.0})))
    assert {re.split("[,#]", address)[0] for address in found.addresses} == {"", "data:image/png;base64"}


def test_the_same_run_gives_the_same_page(tmp_path: Path, spec: RunSpec) -> None:
    first = page(tmp_path, spec, evaluation(spec, {"Good": -1.0})).read_bytes()
    assert page(tmp_path, spec, evaluation(spec, {"Good": -1.0})).read_bytes() == first


def test_a_run_of_which_every_model_failed_has_a_page_without_pictures(tmp_path: Path, spec: RunSpec) -> None:
    judged = evaluation(spec, {"Good": -1.0})
    none = Evaluation(models={}, baselines={}, missing=judged.missing)
    isolation = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
    write_html_report(tmp_path, spec, none, isolation, "mine/run", None, {})
    texts = " ".join(Texts(tmp_path / HTML_REPORT).texts)
    assert "0 trained, 0 pass the gate, 1 could not be trained" in texts
    assert "nothing is known of the samples" in texts


@pytest.mark.integration
def test_in_a_browser_rows_are_sorted_by_a_click_and_a_load_with_markup_for_a_name_runs_nothing(
    tmp_path: Path, spec: RunSpec, chromium: Browser
) -> None:
    judged = evaluation(spec, {"Good": -1.0, "Poor": 12.0, "Fair": 4.0}, load=HOSTILE)
    file = page(tmp_path, spec, judged)
    with closing(chromium.new_page()) as shown:
        shown.goto(file.as_uri())
        table = shown.locator("#errors table").first
        trainers = table.locator("tbody td:first-child")
        assert trainers.all_text_contents() == ["Good", "Fair", "the mean power", "Poor"]
        table.get_by_role("button", name="unseen load").click()
        assert trainers.all_text_contents() == ["Poor", "the mean power", "Fair", "Good"]
        table.get_by_role("button", name="trainer").click()
        assert trainers.all_text_contents() == ["Fair", "Good", "Poor", "the mean power"]
        assert shown.title() == "mine: power models"
        assert HOSTILE in (shown.locator("dl").first.text_content() or "")
