"""Another user of the machine, and a request with a forged address, against a running stack: they get nothing."""

from __future__ import annotations

import base64
import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from doors import said_at, takes_grpc
from running_stack import DAG
from somebody_else import NOBODY, as_nobody, needs_root
from stack_processes import listening_tcp, listening_unix, processes

from kepler_train.errors import UserError
from kepler_train.local.mutual_tls import MutualTls
from kepler_train.local.stack import RunningStack, find
from kepler_train.processes import proc_file

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

OBJECT, CONTENT = "treasure.txt", b"hidden gold"


@pytest.fixture(scope="module")
def stack(running_stack: RunningStack) -> RunningStack:
    return running_stack


@pytest.fixture(scope="module")
def s3(stack: RunningStack) -> Any:
    """A client with the stack's own key, and an object that others must not see."""
    import boto3

    key = json.loads((stack.home / "s3" / "identities.json").read_text())["identities"][0]["credentials"][0]
    client = boto3.client(
        "s3",
        endpoint_url=stack.s3_url,
        aws_access_key_id=key["accessKey"],
        aws_secret_access_key=key["secretKey"],
        region_name="us-east-1",
    )
    client.create_bucket(Bucket="private")
    client.put_object(Bucket="private", Key=OBJECT, Body=CONTENT)
    return client


def everything(stack: RunningStack) -> Iterator[Path]:
    """All files and folders of a stack, those of the database included, which may be outside of its home."""
    for root in (stack.home, Path(stack.state.postgres_data).parent):
        yield root
        for folder, folders, files in os.walk(root):
            yield from (Path(folder, name) for name in (*folders, *files))


def secrets_of(stack: RunningStack) -> list[str]:
    identities = json.loads((stack.home / "s3" / "identities.json").read_text())["identities"]
    keys = [path.read_text() for path in (stack.home / "airflow").glob("*.key")]
    assert len(keys) == 3
    return [stack.login.password, identities[0]["credentials"][0]["secretKey"], *keys]


def api(stack: RunningStack | str, path: str, **options: Any) -> requests.Response:
    url = stack if isinstance(stack, str) else stack.airflow_url
    return requests.request(options.pop("method", "GET"), f"{url}{path}", timeout=20, **options)


def unsigned_token() -> str:
    """What an administrator's token would say, by nobody's signature."""
    head, body = {"alg": "none", "typ": "JWT"}, {"sub": "admin", "role": "ADMIN", "aud": "apache-airflow", "exp": 4e9}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (head, body))
    return f"{'.'.join(parts)}."


def test_all_that_a_stack_writes_is_its_owners_alone_although_the_umask_was_open(stack: RunningStack):
    open_ones = []
    for path in everything(stack):
        mode = path.lstat().st_mode
        # SeaweedFS opens its notes of volumes itself; they hold nothing, in a folder that is closed.
        if mode & 0o077 and not stat.S_ISLNK(mode) and path.suffix != ".vif":
            open_ones.append((oct(mode), path))
    assert open_ones == []
    written = {path.relative_to(stack.home).parts[0] for path in stack.home.iterdir()}
    assert {"airflow", "logs", "postgres", "prometheus", "s3", "state.json"} <= written


def test_nothing_listens_beyond_loopback(stack: RunningStack):
    listening = listening_tcp(processes(stack.home))
    assert {host for host, _ in listening} == {"127.0.0.1"}
    assert len(listening) == 10  # Airflow, Prometheus, and the eight of the S3 server


def test_no_secret_is_in_the_arguments_of_a_process_or_in_a_log(stack: RunningStack):
    arguments = [proc_file(pid, "cmdline").decode(errors="replace") for pid in processes(stack.home)]
    assert any("airflow" in line for line in arguments)
    logs = [path.read_text(errors="replace") for path in stack.home.rglob("*.log")]
    assert len(logs) > 5
    for secret in secrets_of(stack):
        assert not any(secret in text for text in (*arguments, *logs))


@needs_root
def test_nobody_can_read_no_file_and_no_environment_of_the_stack(stack: RunningStack, s3: Any):
    files = [path for path in everything(stack) if path.is_file()]
    inner = [Path(f"/proc/{pid}/{name}") for pid in processes(stack.home) for name in ("environ", "cwd/state.json")]

    def readable() -> list[str]:
        found = []
        for path in (*files, *inner):
            try:
                with path.open("rb") as file:
                    file.read(1)
                found.append(str(path))
            except OSError:
                continue
        return found

    assert len(files) > 500  # PostgreSQL alone has more
    assert as_nobody(readable) == []


@needs_root
def test_nobody_finds_no_object_behind_any_port_of_the_stack(stack: RunningStack, s3: Any, home: Path):
    pids = processes(stack.home)
    ports, sockets = [port for _, port in listening_tcp(pids)], listening_unix(pids)
    stranger = MutualTls(home)
    stranger.make()
    for file in (stranger.key, stranger.certificate):
        os.chown(file, NOBODY, NOBODY)
    paths = [f"/private/{OBJECT}", f"/buckets/private/{OBJECT}", "/buckets/private/", "/private", "/dir/status", "/"]

    def knock() -> dict[int, tuple[bytes, bool]]:
        files = (stranger.certificate, stranger.key)
        return {port: (said_at(port, paths, files), takes_grpc(port, files)) for port in ports}

    def connect() -> list[str]:
        open_ones = []
        for name in sockets:
            with socket.socket(socket.AF_UNIX) as client:
                try:
                    client.connect(name)
                    open_ones.append(name)
                except PermissionError:
                    continue
        return open_ones

    for port, (heard, by_grpc) in as_nobody(knock).items():
        for secret in (CONTENT, b"<Contents>", b"DataCenter"):
            assert secret not in heard, f"port {port}"
        assert not by_grpc, port
    assert len(sockets) == 7  # six of the S3 server, and PostgreSQL's
    assert as_nobody(connect) == []
    assert s3.get_object(Bucket="private", Key=OBJECT)["Body"].read() == CONTENT


@needs_root
def test_nobody_cannot_connect_to_the_database(stack: RunningStack):
    import psycopg2

    folder = next(service.address for service in stack.state.services if service.name == "postgres")

    def connect() -> str:
        try:
            psycopg2.connect(host=folder, dbname="airflow", user="postgres").close()
        except psycopg2.OperationalError as error:
            return str(error)
        return "connected"

    assert connect() == "connected"
    assert "Permission denied" in as_nobody(connect)


@needs_root
def test_nobody_gets_no_token_and_triggers_nothing(stack: RunningStack):
    url = stack.airflow_url

    def attempts() -> dict[str, int]:
        login = {"username": "admin", "password": "admin"}
        run = {"method": "POST", "json": {"logical_date": None, "conf": {}}}
        forged = {"headers": {"Authorization": f"Bearer {unsigned_token()}"}}
        runs = f"/api/v2/dags/{DAG}/dagRuns"
        return {
            "anonymous token": api(url, "/auth/token").status_code,
            "anonymous login": api(url, "/auth/token/login", allow_redirects=False).status_code,
            "guess": api(url, "/auth/token", method="POST", json=login).status_code,
            "guess by the command line": api(url, "/auth/token/cli", method="POST", json=login).status_code,
            "run": api(url, runs, **run).status_code,
            "run with a forged token": api(url, runs, **run, **forged).status_code,
            "read runs": api(url, runs).status_code,
            "read configuration": api(url, "/api/v2/config").status_code,
            "act as a task": api(url, "/execution/variables/any", **forged).status_code,
        }

    before = stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"]
    assert as_nobody(attempts) == {
        "anonymous token": 403,
        "anonymous login": 403,
        "guess": 401,
        "guess by the command line": 401,
        "run": 401,
        "run with a forged token": 403,
        "read runs": 401,
        "read configuration": 401,
        "act as a task": 403,
    }
    assert stack.api._call("GET", f"/dags/{DAG}/dagRuns")["total_entries"] == before


@needs_root
def test_nobody_cannot_ask_for_the_state_of_the_stack_or_stop_it(stack: RunningStack):
    def ask() -> str:
        try:
            find(stack.home)
        except UserError as error:
            return str(error)
        return "answered"

    assert (
        as_nobody(ask)
        == f"The home {stack.home} is a folder that belongs to the user root: choose a --home of your own."
    )


@pytest.mark.parametrize("path", ["/", "/auth/login", "/auth/token", "/api/v2/monitor/health", "/execution/health"])
def test_a_request_that_is_addressed_to_somebody_else_is_refused(stack: RunningStack, path: str):
    port = stack.airflow_url.rpartition(":")[2]
    ours = [f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"]
    for host in ours:
        assert api(stack, path, headers={"Host": host}).status_code != 403 or path == "/auth/token"
    foreign = [f"evil.example:{port}", "evil.example", "127.0.0.1", f"127.0.0.1.evil.example:{port}", "127.0.0.1:1", ""]
    for host in foreign:
        refused = api(stack, path, headers={"Host": host})
        assert (refused.status_code, "This Airflow answers to" in refused.text) == (403, True), host


def test_two_addresses_in_one_request_are_refused(stack: RunningStack):
    host, _, port = stack.airflow_url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        lines = ["GET /api/v2/version HTTP/1.1", f"Host: {host}:{port}", "Host: evil.example", "Connection: close"]
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        assert client.recv(1000).split()[1] in (b"400", b"403")


def test_a_page_of_another_origin_is_refused_even_with_the_right_token(stack: RunningStack):
    stack.api.dags()
    login = {"username": stack.login.user, "password": stack.login.password}
    token = api(stack, "/auth/token", method="POST", json=login).json()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    answers = {
        origin: api(stack, "/api/v2/dags", headers=headers | {"Origin": origin})
        for origin in (stack.airflow_url, "http://127.0.0.1:1", "http://evil.example", "null")
    }
    assert [answer.status_code for answer in answers.values()] == [200, 403, 403, 403]
    assert not any("Access-Control-Allow-Origin" in answer.headers for answer in answers.values())
