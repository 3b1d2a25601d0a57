"""Kill the steps of runs at random moments, go on, and compare with a run that nobody disturbed."""

from __future__ import annotations

import random

from children import Ended, Place, Undisturbed, run, start
from counts import Row, progress
from lab import KINDS, STEPS, Files, Lab, StepsOf

PROBLEMS = ["wrong results", "half results", "lost results", "other failures", "left in temporary folders"]
MOMENTS = ["at a moment", "before a write or request"]
_ATTEMPTS = 5  # for each kill: a step that ends before its moment comes is tried again


def killed_steps(lab: Lab, seed: int, runs: int, kills: int, steps: list[str]) -> list[Row]:
    """Kill these steps of `runs` runs on a folder and as many on S3, each `kills` times; no names are all steps."""
    rows = []
    expected: Files = {}
    for kind in KINDS:
        row = Row(f"steps, {kind}")
        reference = lab.run(lab.workspace(kind, f"reference-{kind}"))
        place = lab.place(f"reference-{kind}")
        times = reference.measured(place)
        files = reference.files()
        if expected and files != expected:
            compare(f"undisturbed, {kind}", files, expected, row)
        expected = expected or files
        progress(f"a run on {kind} takes {sum(one.seconds for one in times.values()):.0f} s undisturbed")
        for number in range(runs):
            chance = random.Random(f"{seed} {kind} {number}")
            _killed_run(lab, kind, number, row, times, expected, kills, chance, steps)
            progress(f"{row.name}: run {number + 1} of {runs}, {row.tried} kills, {len(row.problems)} problems")
        rows.append(row)
    return rows


def _killed_run(
    lab: Lab,
    kind: str,
    number: int,
    row: Row,
    times: dict[tuple[str, str], Undisturbed],
    expected: Files,
    kills: int,
    chance: random.Random,
    steps: list[str],
) -> None:
    name = f"killed-{kind}-{number}"
    place, disturbed = lab.place(name), lab.run(lab.workspace(kind, name))
    for step, part in STEPS:
        if not steps or step in steps:
            _kill_step(place, disturbed, step, part, times[step, part], expected, row, kills, chance)
        ended = run(place, *disturbed.command(step, part))
        if ended.code != 0:
            row.problem("other failures", f"{name}: {step} {part} does not go on after a kill: {last_words(ended)}")
            return
    compare(name, disturbed.files(), expected, row)
    compare_latest(name, disturbed, row)
    if (listed := disturbed.recorded()[1]) != disturbed.latest():
        row.problem("lost results", f"{name}: the index has {listed!r}")
    if left := place.left():
        row.problem("left in temporary folders", f"{name}: {left}")


def _kill_step(
    place: Place,
    disturbed: StepsOf,
    step: str,
    part: str,
    usual: Undisturbed,
    expected: Files,
    row: Row,
    kills: int,
    chance: random.Random,
) -> None:
    """Kill a step so often; a step that is done already is forced to do it again."""
    wanted, done = row.tried + kills, False
    for _ in range(_ATTEMPTS * kills):
        moment = chance.random() < 0.5
        seconds, operation = chance.uniform(0, usual.seconds), chance.randrange(usual.operations)
        command = disturbed.command(step, part, force=done)
        child = start(place, *command, kill_at=None if moment else operation)
        ended = child.ended(seconds) if moment else child.ended()
        if ended.killed:
            row.count(MOMENTS[0] if moment else MOMENTS[1])
            if wrong := disturbed.half_result(step, part, expected):
                kind, _, sentence = wrong.partition(": ")
                row.problem(f"{kind} results", f"{disturbed.workspace} after {step} {part} was killed: {sentence}")
        elif ended.code != 0:
            row.problem("other failures", f"{disturbed.workspace}: {step} {part}: {last_words(ended)}")
        done = done or ended.code == 0
        if row.tried == wanted:
            return


def compare(
    name: str, files: Files, expected: Files, row: Row, lost: str = "lost results", more: str = "half results"
) -> None:
    """Note every file that is missing, is too much or differs from that of an undisturbed run."""
    for key in sorted(set(files) | set(expected)):
        if key not in files:
            row.problem(lost, f"{name}: {key} is missing")
        elif key not in expected:
            row.problem(more, f"{name}: {key} is more than an undisturbed run has")
        elif files[key] != expected[key]:
            row.problem("wrong results", f"{name}: {key} differs")


def compare_latest(name: str, disturbed: StepsOf, row: Row, lost: str = "lost results") -> None:
    """Note a pointer to the latest version that leads nowhere."""
    latest = disturbed.latest()
    if disturbed.store.read(f"models/lab/{latest}/metadata.json") is None:
        row.problem(lost, f"{name}: latest is {latest!r}")
    elif wrong := disturbed.verify_latest():
        row.problem(lost, f"{name}: {wrong}")
    if (known := disturbed.recorded()[0]) != [latest]:
        row.problem(lost, f"{name}: recorded is {known}, latest is {latest!r}")


def last_words(ended: Ended) -> str:
    """Return how a command failed."""
    return f"exit code {ended.code}: {' '.join(ended.said.splitlines()[-3:])}"
