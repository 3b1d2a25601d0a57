"""Prometheus and S3 as real servers, alone."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
from doors import said_at, takes_grpc
from stack_processes import listening_tcp, listening_unix

from kepler_train.errors import TryAgain, UserError
from kepler_train.local.mutual_tls import MutualTls
from kepler_train.local.ports import Port, take_port
from kepler_train.local.process import ProcessIdentity
from kepler_train.local.prometheus import PrometheusServer, fill_blocks
from kepler_train.local.seaweedfs import SeaweedServer
from kepler_train.local.stack_services import make_prometheus

needs_prometheus = pytest.mark.skipif(not shutil.which("prometheus"), reason="needs Debian's prometheus")

RECORDING = """\
# TYPE kepler_node_package_joules counter
kepler_node_package_joules_total{mode="dynamic"} 0 1700000000
kepler_node_package_joules_total{mode="dynamic"} 30 1700000003
kepler_node_package_joules_total{mode="dynamic"} 60 1700000006
# EOF
"""


def test_a_port_that_is_held_is_not_given_to_anyone_else():
    with take_port("127.0.0.1") as held:
        with take_port("127.0.0.1", prefer=held.number) as other:
            assert other.number != held.number
        with pytest.raises(UserError, match=str(held.number)):
            take_port("127.0.0.1", held.number)


def test_a_server_can_listen_on_the_port_that_is_held_for_it():
    with take_port("127.0.0.1") as held, socket.create_server((held.host, held.number)) as server:
        assert server.getsockname()[1] == held.number
        with pytest.raises(OSError, match="in use"):
            Port(held.host, held.number)


def test_an_address_of_another_machine_is_one_sentence():
    with pytest.raises(UserError, match=r"192\.0\.2\.1"):
        take_port("192.0.2.1")


@pytest.mark.integration
@needs_prometheus
def test_prometheus_serves_what_it_was_filled_with_and_only_on_loopback(tmp_path: Path):
    recording = tmp_path / "node.om"
    recording.write_text(RECORDING)
    server = PrometheusServer(tmp_path / "tsdb")
    server.fill(recording)
    with server:
        query = {"query": "kepler_node_package_joules_total[10s]", "time": "1700000006"}
        answer = requests.get(f"{server.url}/api/v1/query", params=query, timeout=10).json()
        assert [value for _, value in answer["data"]["result"][0]["values"]] == ["0", "30", "60"]
        assert server.child
        assert listening_tcp([server.child.pid]) == {("127.0.0.1", server.port.number)}
        identity = server.child.identity
    assert not identity.alive


@pytest.mark.integration
@needs_prometheus
def test_a_recording_that_is_no_openmetrics_is_one_sentence(tmp_path: Path):
    (tmp_path / "bad.om").write_text("this is not a metric\n")
    server = PrometheusServer(tmp_path / "tsdb")
    with pytest.raises(UserError, match=r"bad\.om"):
        server.fill(tmp_path / "bad.om")
    server.close()


def test_without_prometheus_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"apt-get install prometheus.*simulate prometheus"):
        PrometheusServer(tmp_path / "tsdb")


@pytest.mark.integration
@needs_prometheus
def test_a_server_that_cannot_start_says_the_last_words_of_its_log(tmp_path: Path):
    (tmp_path / "tsdb").mkdir()
    (tmp_path / "tsdb" / "wal").write_text("a file where a folder must be")
    with pytest.raises(TryAgain, match=r"prometheus ended.*wal.*tsdb\.log"), PrometheusServer(tmp_path / "tsdb"):
        pass


@pytest.mark.integration
def test_the_s3_server_keeps_objects_behind_credentials_and_listens_on_loopback_only(tmp_path: Path):
    import boto3
    from botocore.exceptions import ClientError

    with SeaweedServer(tmp_path / "s3") as server:
        server.create_bucket("models")
        server.create_bucket("models")
        server.client().put_object(Bucket="models", Key="a/b.json", Body=b"{}")
        assert requests.get(f"{server.endpoint}/models/a/b.json", timeout=10).status_code == 403
        wrong = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            aws_access_key_id=server.access_key,
            aws_secret_access_key="wrong",
            region_name="us-east-1",
        )
        with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
            wrong.list_buckets()
        assert server.child
        assert {host for host, _ in listening_tcp([server.child.pid])} == {"127.0.0.1"}
        port = server.port.number

    with SeaweedServer(tmp_path / "s3") as again:
        body = again.client().get_object(Bucket="models", Key="a/b.json")["Body"].read()
        assert body == b"{}"
    assert not Path(f"/tmp/seaweedfs-s3-{port}.sock").exists()  # noqa: S108


@pytest.mark.integration
def test_no_port_of_the_s3_server_shows_an_object_or_a_key_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WEED_HTTPS_FILER_CERT", "/nonexistent")  # the caller's own settings of SeaweedFS do not count
    (tmp_path / "stranger").mkdir()
    stranger = MutualTls(tmp_path / "stranger")
    stranger.make()
    paths = ["/buckets/models/treasure.txt", "/models/treasure.txt", "/buckets/models/", "/", "/dir/status", "/status"]
    with SeaweedServer(tmp_path / "s3", buckets=["models"]) as server:
        server.client().put_object(Bucket="models", Key="treasure.txt", Body=b"hidden gold")
        assert server.child
        ports = [port for _, port in listening_tcp([server.child.pid])]
        assert len(ports) == 8  # S3, filer, volume server and master, each with HTTP and gRPC
        for port in ports:
            heard = said_at(port, paths, (stranger.certificate, stranger.key))
            assert not any(secret in heard for secret in (b"hidden gold", b"DataCenter")), f"port {port}: {heard!r}"
            assert not takes_grpc(port, (stranger.certificate, stranger.key)), f"port {port}"
        sockets = [Path(name) for name in listening_unix([server.child.pid])]
        assert len(sockets) == 6
        assert {path.stat().st_mode & 0o077 for path in sockets} == {0}
        arguments = Path(f"/proc/{server.child.pid}/cmdline").read_text()
        assert server.secret_key not in arguments
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "s3" / "security").iterdir()} == {0o600}


def test_sockets_of_killed_s3_servers_are_removed_and_those_in_use_stay(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("kepler_train.local.seaweedfs._SOCKETS", home)
    with socket.socket(socket.AF_UNIX) as killed, socket.socket(socket.AF_UNIX) as living:
        killed.bind(str(home / "seaweedfs-s3-1.sock"))
        living.bind(str(home / "seaweedfs-s3-2.sock"))
        living.listen()
        killed.close()
        server = SeaweedServer(home / "s3")
        server.tidy()
        server.close()
        assert [path.name for path in home.glob("*.sock")] == ["seaweedfs-s3-2.sock"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_socket_that_another_user_left_costs_the_port_and_not_the_start(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("kepler_train.local.seaweedfs._SOCKETS", home)
    left = home / "seaweedfs-s3-8333.sock"
    left.touch()
    os.chown(left, 65534, 65534)
    server = SeaweedServer(home / "s3")
    server.tidy()
    server.close()
    assert server.port.number != 8333
    assert left.exists()


@pytest.mark.integration
@needs_prometheus
def test_a_server_dies_with_the_process_that_started_it(tmp_path: Path):
    owner = f"""
import time
from contextlib import suppress
from pathlib import Path
from kepler_train.local.prometheus import PrometheusServer, fill_blocks
with PrometheusServer(Path({str(tmp_path / "tsdb")!r})) as server:
    print(server.child.pid, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        server = ProcessIdentity.of(int(process.stdout.readline()))
        assert server
        assert server.alive
        process.kill()
    deadline = time.monotonic() + 5
    while server.alive and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not server.alive


@pytest.mark.integration
@needs_prometheus
def test_a_recording_is_filled_once_and_again_when_it_changed(tmp_path: Path):
    recording = tmp_path / "node.om"
    recording.write_text(RECORDING)
    log = tmp_path / "log"
    served = make_prometheus(tmp_path, recording, "127.0.0.1", log)
    blocks = {path.parent.name for path in tmp_path.glob("prometheus/*/meta.json")}
    served.close()
    again = make_prometheus(tmp_path, recording, "127.0.0.1", log)
    again.close()
    assert {path.parent.name for path in tmp_path.glob("prometheus/*/meta.json")} == blocks
    recording.write_text(RECORDING.replace("60", "90"))
    with make_prometheus(tmp_path, recording, "127.0.0.1", log) as changed:
        query = {"query": "kepler_node_package_joules_total", "time": "1700000006"}
        answer = requests.get(f"{changed.address}/api/v1/query", params=query, timeout=10).json()
    assert answer["data"]["result"][0]["value"][1] == "90"


@pytest.mark.integration
@needs_prometheus
def test_a_folder_of_blocks_is_served_and_stays_as_it_is_to_the_byte(tmp_path: Path):
    recording, data = tmp_path / "node.om", tmp_path / "theirs"
    recording.write_text(RECORDING)
    data.mkdir()
    fill_blocks(recording, data)

    def seen():
        return {path.relative_to(data): path.read_bytes() for path in data.rglob("*") if path.is_file()}

    before, log = seen(), tmp_path / "log"
    for _ in range(2):  # the second start finds what the first left in the home
        with make_prometheus(tmp_path / "home", data, "127.0.0.1", log) as served:
            query = {"query": "kepler_node_package_joules_total", "time": "1700000006"}
            answer = requests.get(f"{served.address}/api/v1/query", params=query, timeout=10).json()
        assert answer["data"]["result"][0]["value"][1] == "60"
        assert seen() == before


@needs_prometheus
def test_a_folder_without_blocks_is_refused(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty has no blocks of Prometheus"):
        make_prometheus(tmp_path / "home", tmp_path / "empty", "127.0.0.1", tmp_path / "log")


@pytest.mark.integration
def test_without_debians_server_a_recording_is_served_by_the_simulated_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("kepler_train.local.stack_services.shutil.which", lambda _: None)
    recording = tmp_path / "node.om"
    recording.write_text(RECORDING)
    with make_prometheus(tmp_path, recording, "127.0.0.1", tmp_path / "log") as simulated:
        query = {"query": "kepler_node_package_joules_total", "time": "1700000006"}
        answer = requests.get(f"{simulated.address}/api/v1/query", params=query, timeout=10).json()
    assert answer["data"]["result"][0]["value"][1] == "60"
