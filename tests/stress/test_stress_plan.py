"""What a stress run will do, and the schedule that it leaves."""

from __future__ import annotations

import json
import shlex
import string
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.extract.workloads import label_windows
from kepler_train.samples.schedule import Phase, Schedule, parse_schedule
from kepler_train.stress.loads import Load, parse_command, parse_job, parse_load, read_loads
from kepler_train.stress.plan import format_duration, instance_counts, plan_phases, plan_table, sweep_mhz

CPU, VM = Load("cpu", "stress-ng"), Load("vm-rw", "stress-ng", ("--vm-rw-bytes", "4G"))
MAKE = Load("build", "command", ("make", "all"))


@pytest.mark.parametrize(
    ("cpus", "counts"),
    [(1, [1, 2, 4, 8]), (8, [1, 2, 4, 8, 16]), (15, [1, 2, 4, 8, 16]), (32, [1, 2, 4, 8, 16, 24, 32, 40])],
)
def test_instances_double_and_then_grow_by_eight_to_eight_more_than_the_cpus(cpus: int, counts: list[int]):
    assert instance_counts(cpus) == counts


@pytest.mark.parametrize(
    ("lowest", "highest", "asked"),
    [(800, 3500, [1600, 2400, 3200]), (1200, 2800, [2000, 2800]), (400.0, 4700.5, [1200, 2000, 2800, 3600, 4400])],
)
def test_frequencies_go_from_the_lowest_in_steps_of_800_mhz(lowest: float, highest: float, asked: list[int]):
    assert sweep_mhz(lowest, highest) == asked


def test_a_plan_is_loads_by_frequencies_by_instances_between_two_idle_phases():
    plan = plan_phases([CPU, MAKE], [1, 2], [1600, 2400], timeout=20, idle=100, break_seconds=5)
    assert [phase.name for phase in plan.phases] == [
        "idle",
        "cpu x1 @1600MHz",
        "cpu x2 @1600MHz",
        "cpu x1 @2400MHz",
        "cpu x2 @2400MHz",
        "build x1 @1600MHz",
        "build x1 @2400MHz",
        "idle",
    ]
    assert plan.seconds_from(0) == 100 + 6 * 20 + 100 + 7 * 5
    assert plan.seconds_from(0, {CPU}) == 100 + 2 * 20 + 100 + 3 * 5  # what is missing takes no time
    assert plan.seconds_from(7) == 100
    without = plan_phases([CPU], [1], [], timeout=20, idle=0, break_seconds=5)
    assert [phase.name for phase in without.phases] == ["cpu x1"]


def test_the_table_of_phases_is_aligned_and_ends_with_the_total_time():
    plan = plan_phases([CPU, VM], [1, 16], [], timeout=20, idle=100, break_seconds=5)
    assert plan_table(plan, {VM}) == [
        "phase  load   instances  frequency   time",
        "    1  idle           -   as it is  100 s",
        "    2  cpu            1   as it is   20 s",
        "    3  cpu           16   as it is   20 s",
        "    4  vm-rw          1   as it is   20 s  missing: will not run",
        "    5  vm-rw         16   as it is   20 s  missing: will not run",
        "    6  idle           -   as it is  100 s",
        "4 phases, 4 min 15 s with breaks of 5 s between them.",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.6, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (7321, "2 h 2 min")]
)
def test_durations_are_as_people_say_them(seconds: float, words: str):
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("text", "load"),
    [
        ("cpu", CPU),
        ("cpu;none;none", CPU),
        ("vm-rw;vm-rw-bytes;4G", VM),
        (
            " cpu ; cpu-method ; fft; cpu-load ;50 ",
            Load("cpu", "stress-ng", ("--cpu-method", "fft", "--cpu-load", "50")),
        ),
        ("vm;vm-keep;none", Load("vm", "stress-ng", ("--vm-keep",))),
        ("idle", Load("idle", "idle")),
    ],
)
def test_loads_are_read_in_the_form_of_the_tekton_parameter(text: str, load: Load):
    assert parse_load(text) == load


@pytest.mark.parametrize(
    "text", ["", ";", "cpu;a", "cpu;a;", "--cpu", "cpu;--a;1", "cpu;a b;1", "cpu; ;1", "CPU", "a/b"]
)
def test_a_load_in_another_form_is_refused(text: str):
    with pytest.raises(UserError, match="The load"):
        parse_load(text)


def test_what_the_schedule_decides_cannot_be_set_by_a_load():
    with pytest.raises(UserError, match="sets timeout, which is the schedule's: use --timeout"):
        parse_load("cpu;timeout;5h")


@pytest.mark.parametrize("option", ["log-file;/tmp/x", "job;/tmp/x", "yam;/tmp/x", "l;/tmp/x", "vm-keep;1"])
def test_a_load_has_its_own_options_only_as_those_of_the_program_write_files(option: str) -> None:
    key = option.partition(";")[0]
    with pytest.raises(UserError, match=rf"sets {key}, which is no option of cpu: those begin with cpu-"):
        parse_load(f"cpu;{option}")


def test_a_value_is_no_further_option() -> None:
    with pytest.raises(UserError, match="gives 'vm-keep' the value '--log-file=/tmp/x'"):
        parse_load("vm;vm-keep;--log-file=/tmp/x")


@given(st.lists(st.text(alphabet=string.printable, min_size=1).filter(lambda text: "\0" not in text), min_size=1))
def test_the_words_of_a_command_arrive_as_they_are(words: list[str]):
    assert parse_command(f"name={shlex.join(words)}").arguments == tuple(words)


def test_a_command_without_a_name_is_labelled_by_its_program():
    assert parse_command("/usr/bin/make -j4") == Load("make", "command", ("/usr/bin/make", "-j4"))


@pytest.mark.parametrize("text", ["", "name=", "name='open", "idle=sleep 1", "'a b' c"])
def test_a_command_that_cannot_be_run_or_labelled_is_refused(text: str):
    with pytest.raises(UserError):
        parse_command(text)


def test_a_list_of_loads_may_hold_remarks(tmp_path: Path):
    (tmp_path / "loads").write_text("# ours\ncpu\n\n  vm-rw;vm-rw-bytes;4G\n")
    assert read_loads(tmp_path / "loads") == [CPU, VM]
    (tmp_path / "loads").write_text("# nothing\n")
    with pytest.raises(UserError, match="is empty"):
        read_loads(tmp_path / "loads")
    with pytest.raises(UserError, match="cannot be read"):
        read_loads(tmp_path / "none")


def test_a_job_is_labelled_by_its_file_unless_it_is_named(tmp_path: Path):
    file = tmp_path / "pi.yaml"
    file.touch()
    assert parse_job(str(file)).name == "pi"
    assert parse_job(f"digits={file}") == Load("digits", "job", (str(file),))
    with pytest.raises(UserError, match="There is no Job"):
        parse_job(str(tmp_path / "other.yaml"))


def phase(first: int, last: int, **more: object) -> Phase:
    at = [datetime.fromtimestamp(second, UTC) for second in (first, last)]
    return Phase.model_validate({"load": "cpu", "start": at[0], "end": at[1], **more})


def test_only_phases_that_ran_whole_are_workload_labels():
    phases = [phase(0, 10), phase(10, 20, status="failed"), phase(20, 30, status="stopped"), phase(30, 40, load="idle")]
    labels = label_windows(np.arange(0, 40, 5.0), np.arange(5, 45, 5.0), "node", Schedule(phases=phases))
    assert labels.tolist() == ["cpu", "cpu", "", "", "", "", "idle", "idle"]


def test_schedules_without_the_newer_fields_still_read():
    old = {
        "machine_id": "m",
        "phases": [{"load": "cpu", "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z"}],
    }
    schedule = parse_schedule(json.dumps(old).encode(), "old.json")
    assert [one.status for one in schedule.labelled()] == ["done"]
    assert (schedule.machine, schedule.notes) == (None, [])


def test_only_what_did_not_run_may_take_no_time():
    assert Schedule(phases=[phase(5, 5, status="missing")]).phases[0].status == "missing"
    for wrong in (phase(5, 5), phase(6, 5, status="failed")):
        with pytest.raises(ValueError, match="ends before it starts"):
            Schedule(phases=[wrong])
