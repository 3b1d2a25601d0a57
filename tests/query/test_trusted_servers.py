"""Credentials belong to an address: a run that names another one is refused, and nothing is sent there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted import Reply, Scripted, scripted

from kepler_train.errors import UserError
from kepler_train.plan.step import plan
from kepler_train.query.credentials import credentials_for
from kepler_train.query.machines import exported_machines
from kepler_train.query.prometheus import Prometheus
from kepler_train.query.samples import query_samples
from kepler_train.query.trusted_servers import LISTED, OWN, is_trusted
from kepler_train.spec import RunSpec
from kepler_train.stress.step import measured_node
from kepler_train.workspace import Inputs, Run, open_store

SECRET = "s3cret-t0ken-0123456789"
CREDENTIALS = {
    "PROMETHEUS_TOKEN_FILE": "{token}",
    "PROMETHEUS_USERNAME": "meter",
    "PROMETHEUS_HEADERS": f"X-Scope-OrgID: {SECRET}",
    "PROMETHEUS_HEADERS_FILE": "{headers}",
    "PROMETHEUS_CERT_FILE": "{token}",
}


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        *CREDENTIALS,
        "PROMETHEUS_PASSWORD",
        "PROMETHEUS_KEY_FILE",
        "PROMETHEUS_CA_FILE",
        "NETRC",
        OWN,
        LISTED,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def elsewhere() -> Iterator[Scripted]:
    """A server that only a run's parameters name."""
    with scripted(lambda _: Reply()) as server:
        yield server


def spec_for(server: Scripted) -> RunSpec:
    window = {"start": "2026-11-13T00:00:00Z", "end": "2026-11-13T02:00:00Z"}
    return RunSpec.model_validate({"prometheus": server.url, **window})


def do_plan(spec: RunSpec, folder: Path) -> None:
    (folder / "plan").mkdir()
    plan(Inputs(Run.named(open_store(str(folder / "workspace")), "lab/1"), "", {}), spec, folder / "plan")


STEPS: dict[str, Callable[[RunSpec, Path], object]] = {
    "plan": do_plan,
    "stress": lambda spec, _: measured_node(spec),
    "query": lambda spec, folder: query_samples(spec, folder),
    "the machines of the query": lambda spec, _: exported_machines(spec),
}


@pytest.mark.parametrize("variable", CREDENTIALS)
@pytest.mark.parametrize("step", STEPS)
def test_no_step_sends_credentials_to_a_server_that_only_the_run_names(
    step: str, variable: str, elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "headers").write_text(f"X-Key: {SECRET}")
    monkeypatch.setenv(variable, CREDENTIALS[variable].format(token=tmp_path / "token", headers=tmp_path / "headers"))
    monkeypatch.setenv(OWN, "https://prometheus.lab:9090/prom")
    with pytest.raises(UserError) as refused:
        STEPS[step](spec_for(elsewhere), tmp_path)
    assert str(refused.value) == (
        f"{variable} is for https://prometheus.lab:9090, not for {elsewhere.url}, which only the run's parameters name:"
        f" leave the parameter prometheus as it is, or add {elsewhere.url} to KEPLER_TRAIN_TRUSTED_SERVERS where the"
        " steps run."
    )
    assert elsewhere.requests == []
    assert not list((tmp_path / "plan").glob("*"))


@pytest.mark.parametrize("variable", [OWN, LISTED])
def test_the_installations_own_server_and_those_it_lists_get_them(
    variable: str, elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_USERNAME", "meter")
    monkeypatch.setenv(OWN, "https://prometheus.lab")
    monkeypatch.setenv(variable, f"{elsewhere.url}/" if variable == OWN else f"https://other.lab, {elsewhere.url} ,")
    Prometheus(elsewhere.url).instant("up", 0)
    assert elsewhere.requests[0].headers["Authorization"].startswith("Basic ")


def test_a_person_who_types_the_address_beside_the_credentials_owns_both(
    elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch, kepler_train: Callable[..., tuple[int, list[str], list[str]]]
) -> None:
    monkeypatch.setenv("PROMETHEUS_USERNAME", "meter")
    monkeypatch.setenv(OWN, "https://prometheus.lab")
    for command in ("query --interval 60 --id lab", "machine"):
        _, _, errors = kepler_train(*command.split(), "--server", elsewhere.url)
        assert "which only the run's parameters name" not in "".join(errors)
    assert len(elsewhere.requests) > 1
    assert all("Authorization" in request.headers for request in elsewhere.requests)


def test_a_run_without_credentials_may_name_any_server(elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWN, "https://prometheus.lab")
    monkeypatch.setenv("PROMETHEUS_CA_FILE", "")
    Prometheus(elsewhere.url).instant("up", 0)
    assert "Authorization" not in elsewhere.requests[0].headers


def test_without_any_setting_the_default_of_a_run_is_the_installations_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_trusted("http://127.0.0.1:9090")
    assert not is_trusted("http://127.0.0.1:9091")
    monkeypatch.setenv(LISTED, "https://prometheus.lab")
    assert not is_trusted("http://127.0.0.1:9090")
    assert is_trusted("https://PROMETHEUS.lab:443/prom")
    assert not is_trusted("http://prometheus.lab")


def test_a_login_of_a_netrc_goes_to_no_other_port_or_scheme_of_its_host(
    elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login meter password {SECRET}\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv(OWN, "https://127.0.0.1:9090")
    with pytest.raises(UserError, match=r"~/\.netrc is for https://127\.0\.0\.1:9090, not for http://127\.0\.0\.1:"):
        Prometheus(elsewhere.url)
    monkeypatch.setenv(OWN, elsewhere.url)
    Prometheus(elsewhere.url).instant("up", 0)
    assert "Authorization" in elsewhere.requests[0].headers


def test_the_default_login_of_a_netrc_is_for_trusted_servers_only(
    elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text(f"machine prometheus.lab login a password b\ndefault login me password {SECRET}\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    Prometheus(elsewhere.url).instant("up", 0)
    monkeypatch.setenv(LISTED, elsewhere.url)
    Prometheus(elsewhere.url).instant("up", 0)
    assert ["Authorization" in request.headers for request in elsewhere.requests] == [False, True]


@pytest.mark.parametrize(
    ("listed", "sentence"),
    [
        ("prometheus.lab", "KEPLER_TRAIN_TRUSTED_SERVERS: 'prometheus.lab' is not of the form http://host:9090/path"),
        ("https://a.lab, https://*.lab", "'https://*.lab' is not of the form"),
        ("https://a.lab/team", "has a path, but a server is trusted as a whole: write https://a.lab."),
        (f"https://me:{SECRET}@a.lab", "The address has a user or a password in it, which would be stored"),
    ],
)
def test_a_list_that_cannot_be_read_trusts_nobody(listed: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LISTED, listed)
    with pytest.raises(UserError) as refused:
        credentials_for("https://a.lab")
    assert sentence in str(refused.value)
    assert SECRET not in str(refused.value)


def test_what_a_server_repeats_of_the_secrets_is_not_passed_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    password = 'pass "word" <7>/ü+&'
    monkeypatch.setenv("PROMETHEUS_USERNAME", "meter")
    monkeypatch.setenv("PROMETHEUS_PASSWORD", password)
    repeated = [
        Reply(json.dumps({"status": "error", "error": f"unknown password {password}"}).encode(), 400),
        Reply(json.dumps({"status": "error", "error": f"unknown: {password}"}, ensure_ascii=False).encode(), 400),
        Reply(f"<p>wrong: {'x' * 275} {password}</p>".encode(), 500, {"Content-Type": "text/html"}),
        Reply(b"pass &quot;word&quot; &lt;7&gt;/\xc3\xbc+&amp; in HTML", 502, {"Content-Type": "text/html"}),
        Reply(b"", 302, {"Location": "/login/pass%20%22word%22%20%3C7%3E%2F%C3%BC%2B%26"}),
        Reply(b'{"status":"success","data":{"result":[]},"warnings":["pass \\"word\\" <7>/\\u00fc+&"]}'),
    ]
    for reply in repeated:
        with scripted(lambda _, reply=reply: reply) as server:
            monkeypatch.setenv(OWN, server.url)
            said = ""
            try:
                with pytest.MonkeyPatch.context() as at_once:
                    at_once.setattr("kepler_train.query.retry.ATTEMPTS", 1)
                    Prometheus(server.url).instant("up", 0)
            except Exception as error:
                said = str(error)
            said += capsys.readouterr().out
        assert "word" not in said.replace("unknown password", ""), said
        assert "***" in said or reply.status == 500, said  # of which the end is cut off
