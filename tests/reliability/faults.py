"""Let requests to S3 fail during each step of runs, go on, and compare with a run that nobody disturbed."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from children import Ended, Place, run
from counts import Row, progress
from killed_steps import compare, compare_latest, last_words
from lab import STEPS, Files, Lab, StepsOf
from s3_faults import Fault, Request, S3Faults

PROBLEMS = ["wrong results", "silent losses", "tracebacks", "other exit codes", "other failures"]
ENDS = ["done", "done but for the list", "exit code 75", "exit code 2 or 3"]
# publish: the models are there, which is what others wait for; it warns, and the next one makes up for the list.
_WARNED = "The list of pipelines at"
_GOOD_CODES = {0, 2, 3, 75}

_OF_ANSWERS = {Fault.EMPTIED_200, Fault.CUT_BODY, Fault.CHANGED_BYTE}
# What a server or a network may keep up. Who is told for ever that something does not exist has to believe it.
_LASTING = {
    *(Fault.INTERNAL_500, Fault.SLOW_DOWN_503, Fault.RESET, Fault.CUT_BODY, Fault.LOST_ANSWER),
    *(Fault.CLOCK_SKEW_403, Fault.EXPIRED_400, Fault.DENIED_403, Fault.FULL_507, Fault.CHANGED_ON_THE_WAY),
}
STRIKES = [(fault, lasting) for fault in Fault for lasting in (False, True) if not lasting or fault in _LASTING]
_WORKERS = 3  # they mostly wait


@dataclass
class Strike:
    """A fault at the n-th request that it can happen to; a lasting one then at every such request of that object."""

    fault: Fault
    number: int
    lasting: bool
    _seen: int = 0
    _object: tuple[str, str] = ("", "")
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> Fault | None:
        """Return the fault for a request that is struck."""
        if not happens_to(self.fault, request):
            return None
        with self._lock:
            self._seen += 1
            if self._seen == self.number + 1:
                self._object = (request.method, request.key)
                return self.fault
            return self.fault if self.lasting and self._object == (request.method, request.key) else None


def happens_to(fault: Fault, request: Request) -> bool:
    """Tell whether a fault makes a difference to a request."""
    if fault is Fault.EMPTY_LISTING:
        return request.listing
    if fault is Fault.CHANGED_ON_THE_WAY:
        return request.method == "PUT"
    return request.method == "GET" or fault not in _OF_ANSWERS


def faults(lab: Lab, seed: int, rounds: int) -> list[Row]:
    """Strike every step with every fault, in passing and where it may be for good, `rounds` times."""
    rows = {fault: Row(fault.name.lower().replace("_", " ")) for fault in Fault}
    with S3Faults(lab.s3) as proxy:
        reference = lab.run(lab.workspace("S3", "faults"))
        requests = _requests(lab.place("faults").seeing(**proxy.client_environment()), reference, proxy)
    expected = reference.files()

    def struck_run(number: int, fault: Fault, lasting: bool) -> None:
        name = f"faults-{number}"
        with S3Faults(lab.s3) as proxy:
            place = lab.place(name).seeing(**proxy.client_environment())
            struck, chance = lab.run(lab.workspace("S3", name)), random.Random(f"{seed} {name}")
            for step, part in STEPS:
                can = [request for request in requests[step, part] if happens_to(fault, request)]
                strike = Strike(fault, chance.randrange(len(can)), lasting) if can else None
                if not _do(place, struck, step, part, proxy, strike, rows[fault], expected):
                    return
        compare(name, struck.files(), expected, rows[fault], lost="silent losses", more="wrong results")
        compare_latest(name, struck, rows[fault], lost="silent losses")
        tried, problems = (sum(f(row) for row in rows.values()) for f in (_tried, _problems))
        progress(f"{rows[fault].name}{', lasting' if lasting else ''}: {tried} faults, {problems} problems")

    with ThreadPoolExecutor(_WORKERS) as workers:
        jobs = [workers.submit(struck_run, number, *strike) for number, strike in enumerate(STRIKES * rounds)]
        for job in jobs:
            job.result()
    return list(rows.values())


def _requests(place: Place, reference: StepsOf, proxy: S3Faults) -> dict[tuple[str, str], list[Request]]:
    """Do all steps undisturbed; return the requests of each."""
    requests = {}
    for step, part in STEPS:
        proxy.clear()
        ended = run(place, *reference.command(step, part))
        if ended.code != 0:
            raise RuntimeError(f"{step} {part} fails through the proxy: {ended.said}")
        requests[step, part] = list(proxy.requests)
    return requests


def _do(
    place: Place,
    struck: StepsOf,
    step: str,
    part: str,
    proxy: S3Faults,
    strike: Strike | None,
    row: Row,
    expected: Files,
) -> bool:
    """Do a step under a fault, and again without it when it failed; return whether the run can go on."""
    where = f"{struck.workspace}: {step} {part}"
    if strike is not None:
        proxy.clear()
        proxy.decide = strike
        ended = run(place, *struck.command(step, part))
        proxy.decide = lambda _: None
        if proxy.faults():
            row.count(_end(ended))
        _judge(where, ended, struck, step, part, row, expected)
        if ended.code == 0 and _WARNED not in ended.said:
            return True
    again = run(place, *struck.command(step, part, force=step == "publish"))
    if again.code != 0:
        row.problem("other failures", f"{where} does not go on after a fault: {last_words(again)}")
    return again.code == 0


def _judge(where: str, ended: Ended, struck: StepsOf, step: str, part: str, row: Row, expected: Files) -> None:
    if "Traceback (most recent call last)" in ended.said:
        row.problem("tracebacks", f"{where}: {last_words(ended)}")
    elif ended.code not in _GOOD_CODES:
        row.problem("other exit codes", f"{where}: {last_words(ended)}")
    if wrong := struck.half_result(step, part, expected):
        row.problem("wrong results", f"{where}, exit code {ended.code}: {wrong}")
    if ended.code == 0 and not struck.has_result(step, part):
        row.problem("silent losses", f"{where}: exit code 0, and no result")


def _end(ended: Ended) -> str:
    if ended.code == 0:
        return "done but for the list" if _WARNED in ended.said else "done"
    return "exit code 75" if ended.code == 75 else "exit code 2 or 3"


def _tried(row: Row) -> int:
    return row.tried


def _problems(row: Row) -> int:
    return len(row.problems)
