"""The audit: a service that knows nothing is not taken for packages without vulnerabilities."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from audit import judge, knows

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv.audit" / "bin" / "python"

# As pip-audit writes them.
CVE = {"id": "CVE-2018-18074", "fix_versions": ["2.20.0"], "aliases": [], "description": ""}
KNOWN = [{"name": "requests", "version": "2.19.0", "vulns": [CVE]}]
MIRROR = [
    {"name": "requests", "skip_reason": "Dependency not found on PyPI and could not be audited: requests (2.19.0)"}
]
EMPTY = [{"name": "requests", "version": "2.19.0", "vulns": []}]
CLEAN = [{"name": "numpy", "version": "2.4.6", "vulns": []}, {"name": "rich", "version": "15.0.0", "vulns": []}]


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        (None, "does not answer"),
        (MIRROR, "does not name the vulnerabilities of requests==2.19.0"),
        (EMPTY, "does not name the vulnerabilities of requests==2.19.0"),
    ],
)
def test_a_service_without_vulnerabilities_is_no_audit(probe: list[dict] | None, why: str):
    assert not knows(probe)
    assert judge(probe, [], "pypi") == (
        75,
        f"Nothing was audited: the service pypi {why} from here. Run `make audit` where it can be reached, or"
        " try `make audit SERVICE=osv`.",
    )


def test_packages_without_vulnerabilities_pass_by_a_service_that_knows_some():
    assert judge(KNOWN, [CLEAN, CLEAN[:1]], "osv") == (0, "No known vulnerabilities in 2 packages, by the service osv.")


def test_a_vulnerability_is_named_with_the_release_that_mends_it():
    flaws = [{**CVE, "id": "PYSEC-1", "fix_versions": ["2.5", "3.0"]}, {**CVE, "id": "PYSEC-2", "fix_versions": []}]
    found = [*CLEAN, {"name": "pillow", "version": "2.0", "vulns": flaws}, *MIRROR]
    code, sentence = judge(KNOWN, [found], "pypi")
    assert code == 1
    assert sentence.splitlines() == [
        "pillow 2.0: PYSEC-1, fixed in 2.5 or 3.0",
        "pillow 2.0: PYSEC-2, fixed in no release",
        "2 known vulnerabilities in 4 packages.",
    ]


def test_packages_that_nobody_looked_at_do_not_pass():
    assert judge(KNOWN, [CLEAN, MIRROR], "pypi") == (75, "1 of 3 packages could not be audited: requests.")
    assert judge(KNOWN, [CLEAN, None], "pypi") == (
        75,
        "The audit by the service pypi did not end: pip-audit's last words are above.",
    )


@contextmanager
def osv(vulnerable: set[str]) -> Iterator[str]:
    """A server of OSV's protocol that knows a vulnerability of some packages."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["package"]["name"]
            event = {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99"}]}
            affected = [{"package": {"name": asked, "ecosystem": "PyPI"}, "ranges": [event]}]
            flaw = {"id": "PYSEC-7", "modified": "2026-11-14T00:00:00Z", "affected": affected}
            body = json.dumps({"vulns": [flaw]} if asked in vulnerable else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.integration
@pytest.mark.skipif(not PYTHON.exists(), reason="no .venv.audit: make sbom makes it")
@pytest.mark.parametrize(
    ("vulnerable", "code", "said"),
    [
        (set(), 75, "Nothing was audited: the service osv does not name the vulnerabilities of requests==2.19.0"),
        ({"requests", "numpy"}, 1, "numpy 2.4.6: PYSEC-7, fixed in 99"),
    ],
)
def test_pip_audit_itself_asks_about_everything_that_is_locked(vulnerable: set[str], code: int, said: str):
    with osv(vulnerable) as url:
        command = [str(PYTHON), str(ROOT / "scripts" / "audit.py"), "--service", "osv", "--osv-url", url]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done
    assert any(line.startswith(said) for line in done.stdout.splitlines()), done.stdout
    assert "Traceback" not in done.stderr
