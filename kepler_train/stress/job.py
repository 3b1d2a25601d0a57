"""A Kubernetes Job as a program: it runs as long as the Job does, and when it ends the Job and its pods are gone.

Run as a file on the standard library, `job.py FILE SECONDS`. The times of the Job go to stdout as one line of JSON,
because a Job begins with its pod and not with the command that made it.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

START_SECONDS = 300
"""Time for the pods to be placed and their images to be pulled."""
END_SECONDS = 60
"""Time for the pods to go."""


class JobFailed(Exception):
    """The reason why the Job is no workload, in one sentence."""


class Terminated(BaseException):
    """SIGTERM: the Job has to be removed now."""


class Job:
    """A Job that this process made, under a name that no other Job has: so it may always be removed by that name."""

    def __init__(self, file: str, seconds: float) -> None:
        try:
            self._content: dict[str, Any] = json.loads(_kubectl("create", "-f", file, "--dry-run=client", "-o", "json"))
            if self._content["kind"] != "Job":
                raise KeyError("kind")
            about = self._content["metadata"]
        except (ValueError, TypeError, KeyError):
            raise JobFailed(f"{file} does not hold one Kubernetes Job.") from None
        stem = (about.pop("generateName", "") or about.get("name", "job")).rstrip("-")[:50]
        self.name = about["name"] = f"{stem}-{secrets.token_hex(4)}"
        self._in_namespace = ["-n", about["namespace"]] if "namespace" in about else []
        # Should we be killed without time to remove it, the cluster ends it.
        self._content["spec"].setdefault("activeDeadlineSeconds", int(START_SECONDS + seconds + END_SECONDS))
        self._seconds = seconds

    def run(self) -> dict[str, float]:
        """Make the Job and wait for its end, at most `seconds` from when its pods run; return when it ran."""
        _kubectl("create", "-f", "-", stdin=json.dumps(self._content))
        start: tuple[float, float] | None = None
        self._limit = time.monotonic() + START_SECONDS
        for status in self._statuses():
            conditions = {
                condition["type"]: condition
                for condition in status.get("conditions", [])
                if condition["status"] == "True"
            }
            if "Failed" in conditions:
                raise JobFailed(f"The Job failed: {conditions['Failed'].get('message', 'it gives no reason')}.")
            if start is None and (conditions or status.get("ready", status.get("active"))):
                start = time.time(), time.monotonic()
                self._limit = start[1] + self._seconds
            if "Complete" in conditions:
                break
        if start is None:
            raise JobFailed(f"The pods of the Job did not start within {START_SECONDS} s.")
        return {"started": start[0], "ended": time.time(), "elapsed": time.monotonic() - start[1]}

    def remove(self) -> None:
        """Remove the Job, and its pods without the half minute that they would be given."""
        _kubectl("delete", "job", self.name, *self._in_namespace, "--ignore-not-found", "--cascade=background")
        pods = ["pods", "-l", f"job-name={self.name}", *self._in_namespace]
        _kubectl("delete", *pods, "--ignore-not-found", "--grace-period=1", f"--timeout={END_SECONDS}s")

    def _statuses(self) -> Iterator[dict[str, Any]]:
        """Yield each status that the cluster reports, until the time limit."""
        # One program that is told of changes: asking again and again would itself be a load.
        query = ["get", "job", self.name, *self._in_namespace, "--watch", "-o", 'jsonpath={.status}{"\\n"}']
        while time.monotonic() < self._limit:
            with subprocess.Popen(["kubectl", *query], stdout=subprocess.PIPE) as watch:
                try:
                    for line in self._lines(watch):
                        yield json.loads(line) if line.strip() else {}
                finally:
                    watch.kill()
            # The server ends a watch now and then; it is begun again, but not in a hurry.
            time.sleep(max(0.0, min(0.5, self._limit - time.monotonic())))

    def _lines(self, program: subprocess.Popen[bytes]) -> Iterator[bytes]:
        assert program.stdout is not None  # noqa: S101 - a pipe
        pending = b""
        while (left := self._limit - time.monotonic()) > 0 and select.select([program.stdout], [], [], left)[0]:
            part = os.read(program.stdout.fileno(), 65536)
            if not part:
                return
            *whole, pending = (pending + part).split(b"\n")
            yield from whole


def _kubectl(*arguments: str, stdin: str | None = None) -> str:
    try:
        result = subprocess.run(["kubectl", *arguments], input=stdin, capture_output=True, text=True)
    except OSError as error:
        raise JobFailed(f"kubectl cannot be run: {error.strerror}.") from None
    if result.returncode:
        reason = (result.stderr.strip().splitlines() or [f"it ended with exit code {result.returncode}"])[-1]
        raise JobFailed(f"kubectl {arguments[0]}: {reason.rstrip('.')}.")
    return result.stdout


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def main(file: str, seconds: float) -> int:
    """Run the Job; return 0 when it was a workload, 1 when it was none, 143 when told to end."""
    signal.signal(signal.SIGTERM, _terminate)
    job: Job | None = None
    code = 1
    try:
        job = Job(file, seconds)
        print(json.dumps(job.run()), flush=True)
        code = 0
    except JobFailed as why:
        print(why, file=sys.stderr)
    except Terminated:
        code = 128 + signal.SIGTERM
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        if job is not None:
            job.remove()
    except JobFailed as why:
        print(f"The Job {job and job.name} may still be there: {why}", file=sys.stderr)
        code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
