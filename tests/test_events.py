"""What a person reads in a task log, and what a machine reads there."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train import events
from kepler_train.events import LogFormat, fail, progress, say, use_format, warn


@pytest.fixture(autouse=True)
def for_people_again() -> Iterator[None]:
    yield
    use_format(LogFormat.HUMAN)


def test_people_read_the_sentence_and_nothing_else(capsys: pytest.CaptureFixture[str]):
    say("query: 12 series", series=12)
    warn("query: 2 gaps", gaps=2)
    fail("No data.", exit_code=3)
    said = capsys.readouterr()
    assert said.out == "query: 12 series\nwarning: query: 2 gaps\n"
    assert said.err == "error: No data.\n"


@pytest.mark.parametrize("form", LogFormat)
def test_no_line_has_the_password_of_an_address(form: LogFormat, capsys: pytest.CaptureFixture[str]):
    use_format(form)
    address = "http://me:hunter22@prom:9090"
    for speak in (say, warn, fail):
        speak(f"Nobody answers at {address}.", server=address, figures={"servers": [(address,)]})
    said = "".join(capsys.readouterr())
    assert said.count("http://***@prom:9090.") == 3
    assert "hunter22" not in said


def test_machines_read_one_object_per_line_with_time_level_event_and_fields(capsys: pytest.CaptureFixture[str]):
    use_format(LogFormat.JSON)
    before = datetime.now(UTC)
    say("query: 12 series", series=12)
    warn("query: 2 gaps", gaps=2)
    fail("No data.", exit_code=3)
    said = capsys.readouterr()
    info, warning = map(json.loads, said.out.splitlines())
    error = json.loads(said.err)
    assert {**info, "time": ""} == {"time": "", "level": "info", "event": "query: 12 series", "series": 12}
    assert {**warning, "time": ""} == {"time": "", "level": "warning", "event": "query: 2 gaps", "gaps": 2}
    assert {**error, "time": ""} == {"time": "", "level": "error", "event": "No data.", "exit_code": 3}
    assert info["time"].endswith("Z")
    assert 0 <= (datetime.fromisoformat(error["time"]) - before).total_seconds() + 0.001 < 5


def strict(line: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(line, parse_constant=refuse)


@settings(max_examples=50)
@given(
    st.text(),
    st.recursive(st.none() | st.floats() | st.text() | st.dates(), lambda one: st.lists(one) | st.sets(st.integers())),
)
def test_whatever_is_said_is_one_line_and_strict_json(text: str, field: object):
    for shown in LogFormat:
        use_format(shown)
        stream = io.StringIO()
        events._write(stream, "warning", text, {"field": field})
        line = stream.getvalue()
        assert line.endswith("\n")
        assert len(line[:-1].splitlines()) == 1
        if shown is LogFormat.JSON:
            assert strict(line)["event"] == text


def test_a_figure_that_is_no_number_is_null_for_machines(capsys: pytest.CaptureFixture[str]):
    use_format(LogFormat.JSON)
    say("train: done", figures={"mape": float("nan"), "mae": 1.5, "worst": float("inf")})
    assert strict(capsys.readouterr().out)["figures"] == {"mape": None, "mae": 1.5, "worst": None}


class Clock:
    """A clock that is told the time (s)."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    told = Clock()
    monkeypatch.setattr(events, "time", told)
    return told


def test_without_a_terminal_progress_is_a_line_with_percent_and_rate_every_five_seconds(
    clock: Clock, capsys: pytest.CaptureFixture[str]
):
    with progress("query", 40, "requests") as shown:
        for _ in range(20):
            clock.now += 1
            shown.advance(2, "of node-1")
    assert capsys.readouterr().out.splitlines() == [
        "query: 25 % (10 of 40 requests, 2/s) of node-1",
        "query: 50 % (20 of 40 requests, 2/s) of node-1",
        "query: 75 % (30 of 40 requests, 2/s) of node-1",
        "query: 100 % (40 of 40 requests, 2/s) of node-1",
    ]


def test_short_work_says_nothing_and_no_work_is_all_done(clock: Clock, capsys: pytest.CaptureFixture[str]):
    with progress("query", 40, "requests") as shown:
        shown.advance(40)
    assert capsys.readouterr().out == ""
    with progress("query", 0, "requests") as shown:
        clock.now += 6
        shown.advance(0)
    assert capsys.readouterr().out == "query: 100 % (0 of 0 requests)\n"


@pytest.mark.parametrize(
    ("seconds", "pace"), [(2, ", 1/s"), (2.1, ", 1/s"), (4, ", 30/min"), (60, ", 2/min"), (120, ", 1/min"), (600, "")]
)
def test_slow_work_is_counted_by_the_minute_and_very_slow_work_not_at_all(
    seconds: float, pace: str, clock: Clock, capsys: pytest.CaptureFixture[str]
):
    with progress("train", 44, "fits", every=1) as shown:
        clock.now += seconds
        shown.advance(2)
    assert capsys.readouterr().out == f"train: 5 % (2 of 44 fits{pace})\n"


def test_progress_for_machines_has_percent_and_rate_as_numbers(clock: Clock, capsys: pytest.CaptureFixture[str]):
    use_format(LogFormat.JSON)
    with progress("query", 8000, "samples") as shown:
        clock.now += 8
        shown.advance(1000)
    said = strict(capsys.readouterr().out)
    assert (said["event"], said["percent"], said["rate"]) == ("query: 12 % (1,000 of 8,000 samples, 125/s)", 12.5, 125)


def on_a_terminal(code: str) -> str:
    """What a program writes to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=env) as program:
        os.close(theirs)
        text = b""
        while select.select([ours], [], [], 30)[0]:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the terminal is gone with its program
                break
            if not part:
                break
            text += part
        assert program.wait() == 0, text
    os.close(ours)
    return text.decode()


def test_on_a_terminal_progress_is_a_bar_that_goes_away_and_lines_stay():
    shown = on_a_terminal(
        "from kepler_train.events import progress, say\n"
        "with progress('query', 4, 'requests') as p:\n"
        "    p.advance(2); say('query: node-1 is slow'); p._bar.refresh(); p.advance(2)\n"
        "say('query: done')\n"
    )
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "━" in plain
    assert "2/4 requests" in plain
    assert "query: node-1 is slow" in plain
    assert shown.rstrip().endswith("query: done")
    assert "\x1b[2K" in shown  # the bar's line is erased
    assert "%" not in plain
