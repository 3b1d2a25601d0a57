"""Who we are to a server: TLS, passwords, tokens and tenants, on a real Prometheus where it can show them."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import requests
from scripted import Reply, Request, attempts_at_once, error, scripted

from kepler_train.errors import TryAgain, UserError
from kepler_train.local.prometheus import PrometheusServer
from kepler_train.query import prometheus as client
from kepler_train.query.credentials import credentials_for

Prometheus = partial(client.Prometheus, typed=True)  # as a person names it, together with the credentials
USER, PASSWORD = "meter", "correct horse"
_BCRYPT = "$2b$04$4e/GKAWlRFLZgX5hr1CEoeAhltvz0/2y9dd/ZKrwQeBnj4y1sCKMi"  # of the password
SECRET = "s3cret-t0ken-0123456789"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No access from the tester's own environment or home; tries again without waiting."""
    names = "TOKEN_FILE USERNAME PASSWORD CA_FILE CERT_FILE KEY_FILE HEADERS HEADERS_FILE"
    for name in (*(f"PROMETHEUS_{name}" for name in names.split()), "NETRC", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with attempts_at_once(3):
        yield


def openssl(*arguments: str, folder: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority (ca), a server on 127.0.0.1 (server) and a client (client), as .pem and .key; another authority."""
    if not shutil.which("openssl"):
        pytest.skip("needs the openssl program")
    folder = tmp_path_factory.mktemp("certificates")
    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    for name in ("ca", "other"):
        openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", folder=folder)
    signed = [*new, "-CA", "ca.pem", "-CAkey", "ca.key"]
    for name, use in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
        mine = ["-subj", f"/CN={name}", "-addext", use, "-addext", "basicConstraints=critical,CA:false"]
        openssl(*signed, *mine, "-keyout", f"{name}.key", "-out", f"{name}.pem", folder=folder)
    return folder


class SecurePrometheus(PrometheusServer):
    """Debian's Prometheus behind its own TLS."""

    def __init__(self, data: Path, certificates: Path, *, clients: bool) -> None:
        super().__init__(data)
        self._certificates, self._clients = certificates, clients

    @property
    def url(self) -> str:
        return f"https://{self.port.host}:{self.port.number}"

    def prepare(self) -> None:
        super().prepare()
        tls = {"cert_file": str(self._certificates / "server.pem"), "key_file": str(self._certificates / "server.key")}
        if self._clients:
            authority = str(self._certificates / "ca.pem")
            tls |= {"client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": authority}
        content = {"tls_server_config": tls} | ({} if self._clients else {"basic_auth_users": {USER: _BCRYPT}})
        (self.data / "web.yml").write_text(json.dumps(content))

    def command(self) -> list[str]:
        return [*super().command(), f"--web.config.file={self.data / 'web.yml'}"]

    def ready(self) -> bool:
        own = [str(self._certificates / f"client.{part}") for part in ("pem", "key")]
        try:
            asked = requests.get(
                f"{self.url}/-/ready",
                timeout=2,
                auth=(USER, PASSWORD),
                verify=str(self._certificates / "ca.pem"),
                cert=(own[0], own[1]) if self._clients else None,
            )
        except requests.RequestException:
            return False
        return asked.status_code == 200


@pytest.fixture(scope="module")
def secure(certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prometheus with TLS and a password."""
    if not shutil.which("prometheus"):
        pytest.skip("needs Debian's prometheus")
    with SecurePrometheus(tmp_path_factory.mktemp("secure") / "data", certificates, clients=False) as server:
        yield server.url


@pytest.fixture(scope="module")
def for_known_clients(certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prometheus that asks for the certificate of whoever comes."""
    if not shutil.which("prometheus"):
        pytest.skip("needs Debian's prometheus")
    with SecurePrometheus(tmp_path_factory.mktemp("clients") / "data", certificates, clients=True) as server:
        yield server.url


def works(url: str) -> bool:
    return Prometheus(url).instant("vector(2)", 1_794_614_400) == [({}, 2.0)]


@pytest.mark.integration
def test_a_real_server_behind_tls_and_a_password(
    secure: str, certificates: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROMETHEUS_CA_FILE", str(certificates / "ca.pem"))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates / "other.pem"))  # what is named for us goes first
    with pytest.raises(UserError, match=r"refused access \(401\): set PROMETHEUS_TOKEN_FILE"):
        works(secure)
    netrc = tmp_path / ".netrc"
    netrc.write_text(f'machine 127.0.0.1 login {USER} password "{PASSWORD}"\n')
    netrc.chmod(0o600)
    assert works(secure)
    monkeypatch.setenv("PROMETHEUS_USERNAME", USER)
    monkeypatch.setenv("PROMETHEUS_PASSWORD", "wrong battery")
    with pytest.raises(UserError, match="401"):  # the environment goes before the netrc
        works(secure)
    monkeypatch.setenv("PROMETHEUS_PASSWORD", PASSWORD)
    netrc.write_text("machine 127.0.0.1 login nobody password nothing\n")
    assert works(secure)


@pytest.mark.integration
def test_a_certificate_that_is_not_trusted_is_one_sentence(
    secure: str, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"is not trusted \(.*\): name the file of its authority with PROMETHEUS_CA_FI"):
        works(secure)
    monkeypatch.setenv("PROMETHEUS_CA_FILE", str(certificates / "other.pem"))
    with pytest.raises(UserError, match="PROMETHEUS_CA_FILE"):
        works(secure)
    monkeypatch.setenv("PROMETHEUS_CA_FILE", str(certificates / "ca.pem"))
    with pytest.raises(UserError, match="is of another host"):
        works(secure.replace("127.0.0.1", "localhost"))


@pytest.mark.integration
def test_http_and_https_are_told_apart(secure: str) -> None:
    with pytest.raises(UserError, match=f"speaks TLS: write {secure}"):
        works(secure.replace("https:", "http:"))
    with scripted(lambda _: Reply()) as plain, pytest.raises(UserError, match=f"does not speak TLS: write {plain.url}"):
        works(plain.url.replace("http:", "https:"))


@pytest.mark.integration
def test_a_real_server_that_knows_its_clients(
    for_known_clients: str, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_CA_FILE", str(certificates / "ca.pem"))
    # What is seen of the refusal depends on whether the server's last words or its hanging up come first.
    with pytest.raises((UserError, TryAgain), match="set PROMETHEUS_CERT_FILE and PROMETHEUS_KEY_FILE"):
        works(for_known_clients)
    monkeypatch.setenv("PROMETHEUS_CERT_FILE", str(certificates / "client.pem"))
    monkeypatch.setenv("PROMETHEUS_KEY_FILE", str(certificates / "client.key"))
    assert works(for_known_clients)
    both = certificates / "both.pem"
    both.write_bytes(b"".join((certificates / f"client.{part}").read_bytes() for part in ("pem", "key")))
    monkeypatch.setenv("PROMETHEUS_CERT_FILE", str(both))
    monkeypatch.delenv("PROMETHEUS_KEY_FILE")
    assert works(for_known_clients)


def authorization(request: Request) -> str:
    return request.headers.get("Authorization", "")


def test_a_token_that_kubernetes_replaces_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    monkeypatch.setenv("PROMETHEUS_TOKEN_FILE", str(file))
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login nobody password nothing\n")  # must not go beside it
    accepted = {"Bearer first"}

    def answer(request: Request) -> Reply:
        if authorization(request) in accepted:
            return Reply()
        file.write_text("third\n")  # it was replaced while the request was on its way
        accepted.add("Bearer third")
        return Reply(b"Unauthorized", 401)

    with scripted(answer) as server:
        prometheus = Prometheus(server.url)
        prometheus.instant("a", 0)
        file.write_text("second\n")
        accepted.clear()
        prometheus.instant("a", 0)
    assert [authorization(request) for request in server.requests] == ["Bearer first", "Bearer second", "Bearer third"]


def test_a_token_that_is_refused_is_not_tried_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text(SECRET)
    monkeypatch.setenv("PROMETHEUS_TOKEN_FILE", str(tmp_path / "token"))
    with scripted(lambda _: Reply(b"", 401)) as server, pytest.raises(UserError, match="refused access"):
        Prometheus(server.url).instant("a", 0)
    assert len(server.requests) == 1


def test_tenants_and_other_headers_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_HEADERS", "X-Scope-OrgID: team-a|team-b; THANOS-TENANT:  lab ;")
    (tmp_path / "headers").write_text("# for the gateway\nX-Key: a;b: c\n\nauthorization: ApiKey 1\n")
    monkeypatch.setenv("PROMETHEUS_HEADERS_FILE", str(tmp_path / "headers"))
    with scripted(lambda _: Reply()) as server:
        Prometheus(server.url).instant("a", 0)
    wanted = {"X-Scope-OrgID": "team-a|team-b", "THANOS-TENANT": "lab", "X-Key": "a;b: c", "Authorization": "ApiKey 1"}
    assert wanted.items() <= server.requests[0].headers.items()


def test_a_password_may_have_any_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_USERNAME", "zähler")
    monkeypatch.setenv("PROMETHEUS_PASSWORD", "電力: 7 ")
    with scripted(lambda _: Reply()) as server:
        Prometheus(server.url).instant("a", 0)
    assert authorization(server.requests[0]) == "Basic " + base64.b64encode("zähler:電力: 7 ".encode()).decode()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"HEADERS": f"X-Key: {SECRET}\r\nHost: elsewhere"}, "line break"),
        ({"HEADERS": SECRET}, "'Name: value'"),
        ({"HEADERS": f"X Key: {SECRET}"}, "'Name: value'"),
        ({"HEADERS": f"X-Key: {SECRET}\x07"}, "characters that no header may have"),
        ({"HEADERS": f"X-Key: {SECRET}; x-key: again"}, "x-key is given twice"),
        ({"HEADERS": "Content-Length: 3"}, "the request's own"),
        ({"HEADERS": f"Authorization: {SECRET}", "USERNAME": "me"}, "say twice who we are"),
        ({"TOKEN_FILE": "{token}", "USERNAME": "me", "PASSWORD": SECRET}, "say twice who we are"),
        ({"PASSWORD": SECRET}, "without PROMETHEUS_USERNAME"),
        ({"USERNAME": "a:b", "PASSWORD": SECRET}, "a colon"),
        ({"TOKEN_FILE": "{folder}/nowhere"}, "cannot be read: No such file"),
        ({"TOKEN_FILE": "{two}"}, "does not hold one token"),
        ({"HEADERS_FILE": "{folder}"}, "cannot be read: Is a directory"),
        ({"CA_FILE": "{folder}/nowhere"}, r"\(PROMETHEUS_CA_FILE\) cannot be read"),
        ({"CA_FILE": "{token}"}, "holds no certificates"),
        ({"KEY_FILE": "{token}"}, "without PROMETHEUS_CERT_FILE"),
        ({"CERT_FILE": "{token}"}, "are not a certificate and its key"),
    ],
)
def test_access_that_cannot_be_meant_is_refused_without_showing_it(
    environment: dict[str, str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "two").write_text(f"{SECRET}\n{SECRET}\n")
    for name, value in environment.items():
        text = value.format(folder=tmp_path, token=tmp_path / "token", two=tmp_path / "two")
        monkeypatch.setenv(f"PROMETHEUS_{name}", text)
    with pytest.raises(UserError, match=words) as refused:
        Prometheus("http://127.0.0.1:9")
    assert SECRET not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_netrc_that_cannot_be_read_is_said_without_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETRC", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"\(NETRC\) cannot be read"):
        Prometheus("http://127.0.0.1:9")
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login me pasword {SECRET}\n")
    monkeypatch.delenv("NETRC")
    with pytest.raises(UserError, match=r"netrc: line 1 is not of its form") as refused:
        Prometheus("http://127.0.0.1:9")
    assert SECRET not in str(refused.value)


def test_a_server_that_repeats_the_secret_does_not_make_us_repeat_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(SECRET)
    monkeypatch.setenv("PROMETHEUS_TOKEN_FILE", str(tmp_path / "token"))
    with (
        scripted(lambda request: Reply(error(f"no such user: {authorization(request)}"), 400)) as server,
        pytest.raises(UserError, match=r"no such user: Bearer \*\*\*\."),
    ):
        Prometheus(server.url).instant("a", 0)


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("https://metrics.example/prom/api/v1/query?x=1", "has moved to https://metrics.example/prom: give that"),
        ("/elsewhere/api/v1/query", "has moved to {url}/elsewhere: give that address"),
        ("/api/v1/query", "at {url} sends requests on to itself, in a loop (308 to '/api/v1/query'): check the proxy"),
        ("{url}/api/v1/query/?again", "sends requests on to itself, in a loop (308 to '/api/v1/query/')"),
        ("//me:pw@{host}/api/v1/query", "sends requests on to itself, in a loop"),
        ("https://{host}/api/v1/query", "has moved to https://{host}: give that address"),
        ("https://me:pw@login.example/sign-in?to=x", "sends requests on to https://login.example/sign-in, which is"),
    ],
)
def test_a_redirect_names_the_new_address_and_is_not_followed(location: str, words: str) -> None:
    def redirect(_: object) -> Reply:
        return Reply(b"", 308, {"Location": location.format(url=server.url, host=host)})

    with scripted(redirect) as server:
        host = server.url.removeprefix("http://")
        with pytest.raises(UserError) as moved:
            Prometheus(server.url).instant("a", 0)
    assert words.format(url=server.url, host=host) in str(moved.value)
    assert "pw" not in str(moved.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [403, 405])
def test_a_proxy_that_lets_people_only_read_is_asked_by_get(status: int) -> None:
    with scripted(lambda request: Reply() if request.method == "GET" else Reply(b"", status)) as server:
        prometheus = Prometheus(server.url)
        prometheus.instant("up", 7)
        prometheus.instant("up", 8)
    assert [request.method for request in server.requests] == ["POST", "GET", "GET"]
    assert server.requests[2].path == "/api/v1/query?query=up&time=8.000"


@pytest.mark.parametrize(
    ("status", "text"), [(401, "no org id"), (400, "X-Scope-OrgID header is required"), (401, "x")]
)
def test_a_server_of_many_tenants_asks_for_the_tenant(status: int, text: str) -> None:
    words = "set PROMETHEUS_TOKEN_FILE" if text == "x" else "set PROMETHEUS_HEADERS, as 'X-Scope-OrgID: team'"
    with scripted(lambda _: Reply(text.encode(), status)) as server, pytest.raises(UserError, match=words):
        Prometheus(server.url).instant("a", 0)


@pytest.mark.parametrize(
    "body", [b'{"status":"success","data":{"resultType":"vector","result":[{"value":[1]}]}}', b"[]"]
)
def test_values_of_another_shape_are_one_sentence(body: bytes) -> None:
    with scripted(lambda _: Reply(body)) as server, pytest.raises(UserError):
        Prometheus(server.url).instant("a", 0)


def test_certificates_that_are_missing_matter_only_where_somebody_has_to_be_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/ca.crt")
    credentials_for("http://prometheus:9090", typed=True)
    with pytest.raises(UserError, match=r"no certificates at /nowhere/ca\.crt"):
        credentials_for("https://prometheus:9090", typed=True)
