"""The pages of published models: who may see and change what, and what they say."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from published_pipelines import published

from kepler_train.publish.ledger import read_versions
from kepler_train.publish.target import Target, open_target

pytest.importorskip("airflow")

from airflow import settings as airflow_settings
from airflow.api_fastapi.app import init_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.models.revoked_token import RevokedToken
from fastapi import FastAPI
from fastapi.testclient import TestClient

from kepler_airflow.models_page import lazy
from kepler_airflow.settings import settings

Browse = Callable[[str], TestClient]


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """Three nights of the pipeline lab, the best the second."""
    target = open_target(str(tmp_path / "workspace" / "models"))
    for night, mae in ((1, 3.0), (2, 2.0), (3, 2.5)):
        published(target, tmp_path / "work", "lab", night, mae)
    return target


@pytest.fixture
def browse(target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browse]:
    """A browser of a user with a role, at the pages as Airflow's API server mounts them."""
    monkeypatch.setenv("KEPLER_TRAIN_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE", str(tmp_path / "passwords"))
    settings.cache_clear()
    manager = init_auth_manager()
    RevokedToken.__table__.create(airflow_settings.get_engine(), checkfirst=True)  # asked for every token
    root = FastAPI()
    root.mount(lazy.PREFIX, lazy.ModelsPages())

    def browser(role: str) -> TestClient:
        client = TestClient(root, base_url=f"http://testserver{lazy.PREFIX}", raise_server_exceptions=False)
        if role:
            token = manager.generate_jwt(SimpleAuthManagerUser(username=f"a {role}", role=role))
            client.cookies.set("_token", token)
        return client

    yield browser
    settings.cache_clear()


def latest_of(target: Target) -> str:
    return target.latest("lab")


def versions_of(target: Target) -> list[str]:
    return [record.version for record in read_versions(target, "lab").versions]


def token_in(page: str) -> str:
    match = re.search(r'name="token" value="([^"]+)"', page)
    assert match
    return match[1]


def test_who_is_not_logged_in_sees_nothing(browse: Browse, target: Target):
    for address in ("/", "/pipelines/lab", f"/pipelines/lab/{latest_of(target)}/files/metadata.json"):
        answer = browse("").get(address)
        assert answer.status_code == 401
        assert "Log in to Airflow first." in answer.text
        assert "rapl" not in answer.text


@pytest.mark.parametrize("address", ["/docs", "/redoc", "/openapi.json"])
def test_there_is_no_description_of_the_addresses(browse: Browse, address: str):
    assert browse("admin").get(address).status_code == 404


def test_the_first_page_has_a_row_for_each_kind_of_power_of_a_pipeline(browse: Browse):
    page = browse("admin").get("/").text
    assert "1 pipeline." in page
    assert "rapl-sysfs/AbsPower" in page
    assert ">2.50<" in page


def test_a_search_that_finds_nothing_says_so(browse: Browse):
    assert "No pipeline matches." in browse("admin").get("/?q=nowhere").text


def test_a_pipeline_shows_its_versions_the_newest_first(browse: Browse, target: Target):
    page = browse("admin").get("/pipelines/lab").text
    first, second, third = (page.index(f"/{version}") for version in versions_of(target))
    assert third < second < first
    assert "from 0 to 3.00" in page


def test_a_viewer_has_no_buttons_and_can_change_nothing(browse: Browse, target: Target):
    viewer = browse("viewer")
    allowed = viewer.get("/")
    if allowed.status_code == 200:  # whether viewers see plugins is for the auth manager to say
        assert "token" not in viewer.get("/pipelines/lab").text
    before = latest_of(target)
    first = versions_of(target)[0]
    answer = viewer.post("/pipelines/lab/make-latest", data={"version": first}, follow_redirects=False)
    assert answer.status_code == 403
    assert latest_of(target) == before


def test_an_editor_goes_back_to_an_earlier_version_and_pins_it(browse: Browse, target: Target):
    editor, first = browse("admin"), versions_of(target)[0]
    form = {"token": token_in(editor.get("/pipelines/lab").text), "version": first}
    answer = editor.post("/pipelines/lab/make-latest", data=form, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/kepler-models/pipelines/lab")
    assert latest_of(target) == first
    editor.post("/pipelines/lab/pin", data=form, follow_redirects=False)
    assert read_versions(target, "lab").pinned == first
    editor.post("/pipelines/lab/unpin", data=form, follow_redirects=False)
    assert read_versions(target, "lab").pinned == ""
    assert "Moved by hand" in editor.get("/pipelines/lab").text


def test_a_change_that_another_site_makes_the_browser_send_is_refused(browse: Browse, target: Target):
    editor, first = browse("admin"), versions_of(target)[0]
    token, before = token_in(editor.get("/pipelines/lab").text), latest_of(target)
    stranger = token_in(browse("op").get("/pipelines/lab").text)
    for form, headers in (
        ({"version": first}, {}),
        ({"version": first, "token": "x"}, {}),
        ({"version": first, "token": stranger}, {}),
        ({"version": first, "token": token}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        answer = editor.post("/pipelines/lab/make-latest", data=form, headers=headers, follow_redirects=False)
        assert answer.status_code == 403
        assert "was not asked for by a page of this server" in answer.text
    assert latest_of(target) == before


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/pipelines/other", "There is no published pipeline other"),
        ("/pipelines/lab/20200101T000000Z-00", "lab has no version 20200101T000000Z-00"),
        ("/pipelines/lab/latest/models/a/b/c/d", "has no model a/b/c/d"),
        ("/pipelines/lab/latest/files/no.txt", "has no file no.txt"),
        ("/pipelines/lab/latest/files/../versions.json", "Not Found"),
        ("/pipelines/lab/latest/files/%2e%2e/versions.json", "has no file ../versions.json"),
        ("/pipelines/.../latest", "is not the name of a pipeline"),
    ],
)
def test_what_is_not_there_is_one_sentence(browse: Browse, address: str, said: str):
    answer = browse("admin").get(address)
    assert answer.status_code == 404
    assert said in answer.text


def test_a_store_that_cannot_be_read_is_one_sentence(browse: Browse, target: Target):
    target.store.write("lab/versions.json", b"[")
    answer = browse("admin").get("/pipelines/lab")
    assert answer.status_code == 500
    assert re.search(r'<p role="alert">[^<]*lab/versions.json[^<]*</p>', answer.text)


def test_a_file_is_never_taken_for_a_page_of_this_server(browse: Browse, target: Target):
    home = f"/pipelines/lab/{latest_of(target)}/files"
    answer = browse("admin").get(f"{home}/metadata.json")
    assert answer.json()["name"] == "lab"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"].startswith("sandbox;")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_names_from_the_store_are_text_and_not_markup(browse: Browse, target: Target, tmp_path: Path):
    published(target, tmp_path / "work", "wild", 1, machine_id="<script>alert(1)</script>")
    key = f"wild/{target.latest('wild')}/rapl-sysfs_AbsPower_model_metadata.csv"
    target.store.write(key, b"model_name,feature_group,mae,mape\nx_0,<i>group,1,\n")
    page = browse("admin").get("/pipelines/wild/latest").text
    assert "<i>group" not in page
    assert "&lt;i&gt;group" in page


def test_the_pages_are_closed_where_airflow_cannot_be_asked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    lazy._pages.cache_clear()
    monkeypatch.setitem(sys.modules, "kepler_airflow.models_page.app", None)
    root = FastAPI()
    root.mount(lazy.PREFIX, lazy.ModelsPages())
    answer = TestClient(root).get(f"{lazy.PREFIX}/")
    lazy._pages.cache_clear()
    assert answer.status_code == 503
    assert "they cannot ask Airflow who may see them" in answer.text
