"""Secrets in every variable that may hold one: after a whole run, everyday commands and failures, none is anywhere."""

from __future__ import annotations

import base64
import json
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from real_s3 import s3_server
from simulated import ASKED, START

from kepler_train.local.prometheus import PrometheusServer
from kepler_train.runs.registry import STEPS
from kepler_train.simulate.history import exported, write_history, write_schedule
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.spec import RunSpec
from kepler_train.workspace import open_store

pytestmark = pytest.mark.integration

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
USER, PASSWORD = "meter", "correct horse"
_BCRYPT = "$2b$04$4e/GKAWlRFLZgX5hr1CEoeAhltvz0/2y9dd/ZKrwQeBnj4y1sCKMi"  # of the password
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
TENANT, API_KEY, TOKEN = "tenant-5e1f0c27", "key-9b0d44aa61", "token-77c2e0b9f3"
PROXY, NETRC, SESSION = "proxy-3f6a9d02", "netrc-c81d55e7", "session-0a94be16"


class GuardedPrometheus(PrometheusServer):
    """Debian's Prometheus behind a password."""

    def prepare(self) -> None:
        super().prepare()
        (self.data / "web.yml").write_text(json.dumps({"basic_auth_users": {USER: _BCRYPT}}))

    def command(self) -> list[str]:
        return [*super().command(), f"--web.config.file={self.data / 'web.yml'}"]

    def ready(self) -> bool:
        import requests

        try:
            return requests.get(f"{self.url}/-/ready", timeout=2, auth=(USER, PASSWORD)).ok
        except requests.RequestException:
            return False


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a real Prometheus with an hour of a simulated node, and the schedule of that hour."""
    folder = tmp_path_factory.mktemp("guarded")
    runs = run_nodes(Scenario(start=START, duration=3600, seed=2, containers=6, phase=300, idle=300))
    write_history(folder / "history.om", exported(runs, "legacy", ["rapl-sysfs"], frozenset(), seed=2))
    write_schedule(folder / "schedule.json", runs, "simulated")
    server = GuardedPrometheus(folder / "data")
    server.fill(folder / "history.om")
    with server:
        yield server.url, folder / "schedule.json"


@pytest.fixture
def secrets(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Secrets in the environment and in the files that it names, as an installation has them; returned with BASIC."""
    away = tmp_path_factory.mktemp("secrets")
    (away / "headers").write_text(f"X-Api-Key: {API_KEY}\n")
    (away / "token").write_text(TOKEN)
    (away / "netrc").write_text(f"machine prometheus.other login me password {NETRC}\n")
    (away / "netrc").chmod(0o600)
    environment = {
        "PROMETHEUS_USERNAME": USER,
        "PROMETHEUS_PASSWORD": PASSWORD,
        "PROMETHEUS_HEADERS": f"X-Scope-OrgID: {TENANT}",
        "PROMETHEUS_HEADERS_FILE": str(away / "headers"),
        "NETRC": str(away / "netrc"),
        "HTTP_PROXY": f"http://me:{PROXY}@127.0.0.1:9",
        "HTTPS_PROXY": f"http://me:{PROXY}@127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "SECRETS": str(away),
        **s3_server(request.config).client_environment(),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    keys = [environment["AWS_SECRET_ACCESS_KEY"], environment["AWS_ACCESS_KEY_ID"]]
    return [PASSWORD, BASIC, TENANT, API_KEY, TOKEN, PROXY, NETRC, SESSION, *keys]


def holding(texts: dict[str, bytes], secrets: list[str]) -> list[str]:
    """The names of texts that hold a secret, with the secret."""
    return [f"{name}: {secret}" for name, text in texts.items() for secret in secrets if secret.encode() in text]


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file as it is, and what archives and tables hold in compressed form."""
    texts: dict[str, bytes] = {}
    for file in (path for path in folder.rglob("*") if path.is_file()):
        texts[str(file)] = file.read_bytes()
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                texts |= {f"{file}!{name}": archive.read(name) for name in archive.namelist()}
        elif file.suffix == ".parquet":
            table = pq.read_table(file)
            metadata = b"\0".join(part for pair in (table.schema.metadata or {}).items() for part in pair)
            numbers = [name for name in table.column_names if "double" in str(table.schema.field(name).type)]
            texts[f"{file}!"] = metadata + str(table.drop_columns(numbers).to_pydict()).encode()
    return texts


@contextmanager
def watched_arguments(secrets: list[str]) -> Iterator[list[str]]:
    """Yield a list that comes to hold arguments with a secret in them, of processes that were started meanwhile."""
    seen: dict[str, bytes] = {}
    ended, before = threading.Event(), set(Path("/proc").glob("[0-9]*"))

    def watch() -> None:
        while not ended.wait(0.02):
            for process in set(Path("/proc").glob("[0-9]*")) - before:
                with suppress(OSError):  # it has ended
                    arguments = (process / "cmdline").read_bytes()
                    seen[f"{process.name} {arguments[:40]!r}"] = arguments

    thread = threading.Thread(target=watch)
    thread.start()
    found: list[str] = []
    try:
        yield found
    finally:
        ended.set()
        thread.join()
        found += holding(seen, secrets)


def run_all(kepler_train: KeplerTrain, workspace: str, spec: Path) -> list[str]:
    """Do every step of a run; return all lines."""
    asked = RunSpec.model_validate(json.loads(spec.read_text()))
    lines: list[str] = []
    for name, step in STEPS.items():
        for part in step.parts(asked):
            arguments = ["run-step", name, "--workspace", workspace, "--run", "lab/1", *(["--part", part] * bool(part))]
            if name == "plan":
                arguments += ["--spec", str(spec)]
            code, said, errors = kepler_train("--log-format", "json", *arguments)
            assert code == 0, errors
            lines += [*said, *errors]
    return lines


def test_a_whole_run_leaves_no_secret_in_files_buckets_lines_or_arguments(
    guarded: tuple[str, Path],
    secrets: list[str],
    kepler_train: KeplerTrain,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    url, schedule = guarded
    monkeypatch.setenv("KEPLER_TRAIN_PROMETHEUS_URL", url)
    target = f"s3://lab/{tmp_path.name}/models"
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(ASKED | {"prometheus": url, "publish_to": target, "schedule": str(schedule)}))
    with watched_arguments(secrets) as arguments:
        lines = run_all(kepler_train, str(tmp_path / "workspace"), spec)
    assert arguments == []
    assert holding({"lines": "\n".join(lines).encode()}, secrets) == []
    files = files_below(tmp_path)
    assert len(files) > 50
    assert holding(files, secrets) == []
    published = open_store(target)
    assert len(published.sizes("lab")) > 10
    for key in published.sizes("lab"):
        published.download(key, tmp_path / "published")
    assert holding(files_below(tmp_path / "published"), secrets) == []


def test_a_run_in_a_bucket_leaves_no_secret_there(
    guarded: tuple[str, Path],
    secrets: list[str],
    kepler_train: KeplerTrain,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("KEPLER_TRAIN_PROMETHEUS_URL", guarded[0])
    workspace, spec = f"s3://lab/{tmp_path.name}/workspace", tmp_path / "spec.json"
    spec.write_text(json.dumps(ASKED | {"prometheus": guarded[0], "output_types": ["AbsPower"]}))
    for step in ("plan", "query"):
        more = ("--spec", str(spec)) if step == "plan" else ()
        assert kepler_train("run-step", step, "--workspace", workspace, "--run", "lab/1", *more)[0] == 0
    store = open_store(workspace)
    for key in store.sizes("runs"):
        store.download(key, tmp_path / "copy")
    assert len(files_below(tmp_path / "copy")) > 5
    assert holding(files_below(tmp_path / "copy"), secrets) == []


def test_everyday_commands_leave_no_secret(
    guarded: tuple[str, Path], secrets: list[str], kepler_train: KeplerTrain, tmp_path: Path
) -> None:
    url, schedule = guarded
    window = f"--start-time {ASKED['start']} --end-time {ASKED['end']}"
    commands = [
        f"query --server {url} {window} --id laptop --to-csv",
        f"query --server {url} {window} --format json -o other",
        f"machine --server {url} --time {ASKED['end']}",
        "validate -fg BPFOnly -o verdict",
        f"extract -fg BPFOnly --schedule {schedule}",
        f"isolate -fg BPFOnly --schedule {schedule}",
        f"train -p lab -fg BPFOnly --schedule {schedule} --abs-trainers LinearRegressionTrainer"
        " --dyn-trainers LinearRegressionTrainer --folds 2 --gate-mae 40 --gate-limit 1000",
        "export -p lab -o database",
        "estimate -m lab/rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0",
    ]
    lines: list[str] = []
    with watched_arguments(secrets) as arguments:
        for command in commands:
            code, said, errors = kepler_train(*command.split())
            assert (code, errors) in ((0, []), (3, errors)), (command, errors)  # a simulated node tells of no machine
            lines += [*said, *errors]
    assert arguments == []
    assert holding({"lines": "\n".join(lines).encode()} | files_below(tmp_path), secrets) == []


@contextmanager
def telltale(status: int, form: str) -> Iterator[str]:
    """A server that repeats every header it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            login = base64.b64decode(self.headers.get("Authorization", "").partition(" ")[2] + "==", validate=False)
            repeated = f"I do not know {login.decode(errors='replace')} of {dict(self.headers)}"
            answer = {"status": "error", "error": repeated}
            body = json.dumps(answer).encode() if form == "json" else repeated.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"application/{form}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815 - the base class names it

        def log_message(self, *_: Any) -> None:
            """Tests read what was answered, not a log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


@pytest.mark.parametrize("status", [200, 400, 401, 403, 422, 429, 500])
@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("identity", ["password", "token"])
def test_a_server_that_repeats_what_it_was_sent_does_not_make_us_repeat_it(
    status: int,
    form: str,
    identity: str,
    secrets: list[str],
    kepler_train: KeplerTrain,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("kepler_train.query.retry.FIRST_PAUSE", 0)
    monkeypatch.setattr("kepler_train.query.retry.JITTER", 0)
    if identity == "token":
        monkeypatch.delenv("PROMETHEUS_USERNAME")
        monkeypatch.delenv("PROMETHEUS_PASSWORD")
        monkeypatch.setenv("PROMETHEUS_TOKEN_FILE", str(Path(os.environ["SECRETS"], "token")))
    with telltale(status, form) as url:
        code, said, errors = kepler_train("query", "--server", url, "--interval", "60")
        assert code in (2, 75)
        assert len(errors) == 1
        monkeypatch.setenv("KEPLER_TRAIN_PROMETHEUS_URL", url)
        (tmp_path / "spec.json").write_text(json.dumps(ASKED | {"prometheus": url}))
        step = ("--workspace", str(tmp_path / "w"), "--run", "lab/1")
        assert kepler_train("run-step", "plan", *step, "--spec", "spec.json")[0] == 0
        failed = kepler_train("run-step", "query", *step)
        assert failed[0] in (2, 75)
    lines = "\n".join([*said, *errors, *failed[1], *failed[2]])
    assert holding({"lines": lines.encode()} | files_below(tmp_path), secrets) == []


FAILING: dict[str, dict[str, str]] = {
    "a wrong key": {"AWS_SECRET_ACCESS_KEY": f"{SESSION}/wrong+key"},
    "an unknown key": {"AWS_ACCESS_KEY_ID": "UNKNOWN", "AWS_SECRET_ACCESS_KEY": f"{SESSION}/wrong+key"},
    "a session that does not exist": {"AWS_SESSION_TOKEN": SESSION},
    "a password in the address": {"AWS_ENDPOINT_URL": f"HTTP://me:{SESSION}@127.0.0.1:9"},
    "a token in the address": {"AWS_ENDPOINT_URL": f"http://127.0.0.1:9/?X-Amz-Security-Token={SESSION}"},
    "nobody there": {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
    "no address": {"AWS_ENDPOINT_URL": f"me:{SESSION}@nowhere"},
    "a proxy with a password": {"AWS_ENDPOINT_URL": "http://s3.invalid", "AWS_MAX_ATTEMPTS": "1"},
}


@pytest.mark.parametrize("how", FAILING)
def test_a_bucket_that_cannot_be_used_is_said_without_secrets(
    how: str, secrets: list[str], kepler_train: KeplerTrain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in FAILING[how].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)  # it remembers the keys that it was made with
    code, said, errors = kepler_train("run-step", "plan", "--workspace", "s3://lab/x", "--run", "lab/1")
    assert code in (2, 75)
    assert len(errors) == 1
    assert holding({"lines": "\n".join([*said, *errors]).encode()} | files_below(tmp_path), secrets) == []
