"""Ask pip-audit for known vulnerabilities of everything that is locked; `make audit` says how it ended.

Exit code 0: nothing is known. 1: something is. 75: the service could not be asked, so nobody knows.
Runs in the environment of requirements/audit.txt.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# requirements/step.txt is a subset of all.txt.
LOCKS = ["requirements/all.txt", "requirements/audit.txt", "docker/step/build.txt"]
# A release whose vulnerabilities have been known since 2018 (CVE-2018-18074). Mirrors of PyPI answer "not found" or an
# empty list for every package, and pip-audit then reports that no vulnerabilities are known.
KNOWN = "requests==2.19.0"
TRY_AGAIN = 75

Report = list[dict[str, Any]]  # a package each: name, version, vulns; or name, skip_reason


class Verdict(NamedTuple):
    """How an audit ended."""

    code: int
    sentence: str


def main() -> None:
    """Audit and print the verdict."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--service", default="pypi", choices=["pypi", "osv"], help="who is asked")
    options.add_argument("--osv-url", help="another server that speaks OSV's protocol")
    asked = options.parse_args()
    service = ["--vulnerability-service", asked.service, *(["--osv-url", asked.osv_url] if asked.osv_url else [])]
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder) / "known.txt"
        known.write_text(KNOWN + "\n", encoding="utf-8")
        probe = audited(known, ["--no-deps", *service])
    reports = [audited(ROOT / lock, service) for lock in LOCKS] if knows(probe) else []
    verdict = judge(probe, reports, asked.service)
    print(verdict.sentence)
    sys.exit(verdict.code)


def audited(lock: Path, options: list[str]) -> Report | None:
    """Return what pip-audit found in a lock file, or nothing when it did not come to an end."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        output = ["--format", "json", "--output", str(report), "--progress-spinner", "off"]
        program = [sys.executable, "-m", "pip_audit", "--disable-pip", "--requirement", str(lock), *output, *options]
        said = subprocess.run(program, capture_output=True, text=True).stderr
        if report.exists():
            found: Report = json.loads(report.read_text(encoding="utf-8"))["dependencies"]
            return found
    print("pip-audit: " + (said.strip().splitlines() or ["no answer"])[-1], file=sys.stderr)
    return None


def knows(probe: Report | None) -> bool:
    """Tell whether the service has vulnerabilities at all: it must name those of a release that has some."""
    return any(one.get("vulns") for one in probe or [])


def judge(probe: Report | None, reports: list[Report | None], service: str) -> Verdict:
    """Return the verdict on the lock files, of which each has a report."""
    if not knows(probe):
        why = "does not answer" if probe is None else f"does not name the vulnerabilities of {KNOWN}"
        other = "pypi" if service == "osv" else "osv"
        return Verdict(
            TRY_AGAIN,
            f"Nothing was audited: the service {service} {why} from here. Run `make audit` where it can be reached, or"
            f" try `make audit SERVICE={other}`.",
        )
    if None in reports:
        return Verdict(TRY_AGAIN, f"The audit by the service {service} did not end: pip-audit's last words are above.")
    locks = list({(one["name"], one.get("version")): one for report in reports for one in report or []}.values())
    vulnerable = [
        f"{one['name']} {one['version']}: {flaw['id']}, fixed in {' or '.join(flaw['fix_versions']) or 'no release'}"
        for one in locks
        for flaw in one.get("vulns", [])
    ]
    if vulnerable:
        return Verdict(
            1, "\n".join([*vulnerable, f"{len(vulnerable)} known vulnerabilities in {len(locks)} packages."])
        )
    skipped = [one["name"] for one in locks if "skip_reason" in one]
    if skipped:
        return Verdict(
            TRY_AGAIN, f"{len(skipped)} of {len(locks)} packages could not be audited: {', '.join(skipped)}."
        )
    return Verdict(0, f"No known vulnerabilities in {len(locks)} packages, by the service {service}.")


if __name__ == "__main__":
    main()
