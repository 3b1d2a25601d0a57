"""The short run: some hundred cases of every kind, and every case that once broke something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from fuzz.case import SHARES, Source
from fuzz.kinds import faulty

TESTS = Path(__file__).parents[1]
# What the harness makes of each way of `faulty`; what goes by another name is a failure too.
RESULTS = {
    "crash": "crash",
    "hang": "hang",
    "sleep": "hang",
    "over 1 GB": "over 1 GB",
    "traceback": "traceback",
    "printed traceback": "traceback",
    "exit": "traceback",
    "secret": "bad sentence",
    "printed secret": "bad sentence",
    "outside": "outside",
    "beside": "outside",
    "left": "outside",
    "program": "outside",
    "pickle": "outside",
    "address": "outside",
}


def fuzz(*options: str) -> subprocess.CompletedProcess[str]:
    """`python -m fuzz …`, in a process that has run no other test: libraries' threads do not survive a fork."""
    path = os.pathsep.join(map(str, (TESTS, TESTS.parent / "plugins")))
    command = [sys.executable, "-m", "fuzz", "--workers", "1", *options]
    return subprocess.run(
        command, cwd=TESTS.parent, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )


def test_broken_input_is_refused_in_a_sentence_or_accepted(tmp_path: Path) -> None:
    done = fuzz("--cases", "1500", "--keep", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^\| (\w+) \|", done.stdout, re.MULTILINE) == ["kind", *SHARES, "all"]


def test_every_way_to_fail_is_ascribed_to_its_case_and_kept(tmp_path: Path) -> None:
    source = Source("faulty", faulty.seeds(tmp_path), {}, seed=1)
    numbers = {source(number).content.decode(): number for number in range(200)}
    chosen = [f"--number={numbers[way]}" for way in (*RESULTS, "accepted", "refused")]
    done = fuzz("--kind", "faulty", "--seconds", "1", "--keep", str(tmp_path), *chosen)
    assert done.returncode == 1, done.stdout + done.stderr
    kept = {(file.parent / "way").read_text(): file.read_text() for file in tmp_path.glob("faulty/*/why.txt")}
    assert {way: text.splitlines()[1].partition(":")[0] for way, text in kept.items()} == RESULTS
    assert kept["traceback"].startswith(f"make fuzz KIND=faulty SEED=1 NUMBER={numbers['traceback']}\n")
    assert "KeyError: 'a bug'" in done.stdout
    assert "| faulty | 17 | 1 | 1 | 1 | 2 | 1 | 3 | 8 |" in done.stdout
