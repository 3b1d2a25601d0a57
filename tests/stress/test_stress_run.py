"""`kepler-train stress` with real stress-ng, on this machine's CPUs and a tree of files in place of their cpufreq."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_sysfs import Cpu, contents, limits_mhz, make_sysfs
from waiting import eventually

from kepler_train.cli import main

pytestmark = pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")

ONE_FREQUENCY = [Cpu(lowest=800, highest=2000, maximum=2000, now=1500), Cpu(shares=0)]
Stress = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    return make_sysfs(tmp_path / "sys", ONE_FREQUENCY)


@pytest.fixture
def stress(tmp_path: Path, sysfs: Path) -> Iterator[Stress]:
    """Start `kepler-train stress …` in a folder of its own, by which all its processes are known."""
    (tmp_path / "run").mkdir()
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kepler_train", "stress", *arguments, "--sysfs", str(sysfs)]
        ours = {"KEPLER_TRAIN_STRESS_STATE": str(tmp_path / "state"), "TMPDIR": str(tmp_path / "run"), "DATAPATH": ""}
        started.append(
            subprocess.Popen(
                command,
                cwd=tmp_path / "run",
                env={**os.environ, **ours},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    assert eventually(lambda: not running_in(tmp_path / "run"))


def running_in(folder: Path) -> list[int]:
    """Living processes with this working directory: a run and all that came of it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
        except OSError:  # it is gone, or a zombie
            continue
    return found


def names_in(folder: Path) -> list[str]:
    return sorted(Path(f"/proc/{pid}/comm").read_text().strip() for pid in running_in(folder))


def manifest(tmp_path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((tmp_path / "run" / "stress.json").read_text())
    return content


def test_every_phase_is_on_record_with_what_really_happened(stress: Stress, tmp_path: Path, sysfs: Path):
    before = contents(sysfs)
    (tmp_path / "run" / "loads").write_text("# two at once\ncpu;cpu-method;fft\n")
    run = stress(
        *["--loads", "loads", "--load", "nosuchload", "--load", "vm-rw;vm-rw-bytes;100000G"],
        *["--command", "limits=grep . ../sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"],
        *["--command", "nap=sleep 60", "--command", "broken=sh -c 'exit 7'"],
        *["--timeout", "1", "--idle", "1", "--break", "0", "--instances", "2"],
        *["--frequency-sweep", "--id", "lab-1", "--node", "worker-3"],
    )
    words, _ = run.communicate(timeout=60)
    assert run.returncode == 0, words
    assert "2 of 8: nosuchload" not in words
    assert "4 of 8: cpu, 2 instances, 1600 MHz, 1 s; " in words
    assert "There is no load of this stress-ng 'nosuchload'" in words
    assert "\n1600000\n" in words  # what the command saw: the frequency was held
    schedule = manifest(tmp_path)
    assert schedule["machine_id"] == "lab-1"
    assert schedule["machine"]["cores"] == os.cpu_count()
    assert {phase["node"] for phase in schedule["phases"]} == {"worker-3"}
    assert [(one["load"], one["status"], one["exit_code"]) for one in schedule["phases"]] == [
        ("idle", "done", None),
        ("nosuchload", "missing", None),
        ("vm-rw", "failed", 0),  # with --aggressive stress-ng says so only in words
        ("cpu", "done", 0),
        ("limits", "done", 0),
        ("nap", "done", -15),  # its time was over
        ("broken", "failed", 7),
        ("idle", "done", None),
    ]
    cpu = schedule["phases"][3]
    assert (cpu["name"], cpu["frequency_mhz"], cpu["frequency_seen_mhz"]) == ("cpu x2 @1600MHz", 1600, 1500)
    assert cpu["bogo_ops"] > 10
    assert cpu["command"][:3] == ["stress-ng", "--cpu", "1"]
    assert cpu["command"][-2:] == ["--cpu-method", "fft"]
    assert "Cannot allocate memory" in schedule["phases"][2]["reason"]
    assert schedule["phases"][-1]["frequency_mhz"] is None
    times = [one[edge] for one in schedule["phases"] for edge in ("start", "end")]
    assert times == sorted(times)
    assert all(moment.endswith("Z") for moment in times)
    assert contents(sysfs) == before
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == ["loads", "stress.json"]


def test_instances_are_pinned_round_robin_and_a_second_run_is_refused(stress: Stress, tmp_path: Path):
    cpus = sorted(os.sched_getaffinity(0))
    count = len(cpus) + 1
    first = stress("--load", "cpu", "--timeout", "60", "--idle", "0", "--instances", str(count))
    assert eventually(lambda: names_in(tmp_path / "run").count("stress-ng") == count)
    second = stress("--load", "cpu", "--idle", "0", "-o", "other")
    restore = stress("--restore")
    for refused in (second, restore):
        words, _ = refused.communicate(timeout=30)
        assert refused.returncode == 2
        assert words.startswith("error: Another stress run has this machine")
    assert not (tmp_path / "run" / "other.json").exists()

    def pinned() -> list[int]:
        mains = [pid for pid in running_in(tmp_path / "run") if Path(f"/proc/{pid}/comm").read_text() == "stress-ng\n"]
        return sorted(cpu for pid in mains for cpu in os.sched_getaffinity(pid))

    assert eventually(lambda: pinned() == sorted([*cpus, cpus[0]])), pinned()
    os.killpg(first.pid, signal.SIGINT)  # as Ctrl-C on a terminal does
    words, _ = first.communicate(timeout=30)
    assert first.returncode == 130, words
    assert not running_in(tmp_path / "run")
    [phase] = manifest(tmp_path)["phases"]
    assert (phase["status"], phase["reason"]) == ("stopped", "SIGINT ended it.")
    assert manifest(tmp_path)["notes"] == ["SIGINT ended the run in phase 1 of 1."]


def test_stopped_by_sigterm_it_keeps_what_was_measured_and_puts_the_frequencies_back(
    stress: Stress, tmp_path: Path, sysfs: Path
):
    before = contents(sysfs)
    run = stress(
        *["--command", "quick=true", "--load", "cpu", "--timeout", "60", "--idle", "1", "--break", "0"],
        *["--instances", "1", "--frequency-sweep"],
    )
    assert eventually(lambda: "stress-ng-cpu" in names_in(tmp_path / "run"))
    assert limits_mhz(sysfs) == {"policy0": (1600, 1600)}
    run.terminate()
    words, _ = run.communicate(timeout=30)
    assert run.returncode == 143, words
    assert not running_in(tmp_path / "run")
    assert contents(sysfs) == before
    assert [phase["status"] for phase in manifest(tmp_path)["phases"]] == ["done", "stopped"]


def test_killed_it_leaves_no_load_running_and_the_next_run_puts_the_frequencies_back(
    stress: Stress, tmp_path: Path, sysfs: Path
):
    before = contents(sysfs)
    common = ["--timeout", "60", "--idle", "0", "--break", "0", "--instances", "2", "--frequency-sweep"]
    run = stress("--load", "fork", *common)
    assert eventually(lambda: names_in(tmp_path / "run").count("stress-ng") == 2)
    assert eventually(lambda: len(running_in(tmp_path / "run")) > 5)
    run.kill()
    run.wait()
    assert eventually(lambda: not running_in(tmp_path / "run")), names_in(tmp_path / "run")
    assert limits_mhz(sysfs) == {"policy0": (1600, 1600)}
    (scratch,) = (tmp_path / "run").iterdir()  # nothing was measured yet
    assert [file.name for file in scratch.iterdir()] == ["lock"]  # the loads' own files went with them

    # A load that hides: in a session of its own, without a parent, and deaf to SIGTERM.
    hidden = "sh -c \"trap '' TERM; setsid setsid sh -c 'trap true TERM; sleep 300; sleep 300' & sleep 300\""
    run = stress("--command", f"hidden={hidden}", *common[:-1])
    assert eventually(lambda: names_in(tmp_path / "run").count("sleep") == 2)
    assert contents(sysfs) == before  # put back first
    assert not scratch.exists()  # swept
    run.kill()
    assert "Put back the CPU frequencies that a killed run had left." in run.communicate()[0]
    assert eventually(lambda: not running_in(tmp_path / "run")), names_in(tmp_path / "run")


def test_the_frequencies_of_a_killed_run_can_be_put_back_by_hand(stress: Stress, tmp_path: Path, sysfs: Path):
    before = contents(sysfs)
    run = stress("--command", "nap=sleep 300", "--timeout", "60", "--idle", "0", "--frequency-sweep")
    assert eventually(lambda: "sleep" in names_in(tmp_path / "run"))
    run.kill()
    assert contents(sysfs) != before
    for words in ("Put back the CPU frequencies that a killed run had left.\n", "There is nothing to put back"):
        restore = stress("--restore")
        assert restore.communicate(timeout=30)[0].startswith(words)
        assert restore.returncode == 0
        assert contents(sysfs) == before


def test_a_cpu_that_cannot_be_held_ends_the_sweep_and_nothing_else(stress: Stress, tmp_path: Path, sysfs: Path):
    shutil.rmtree(sysfs)
    make_sysfs(sysfs, [Cpu(highest=2800, maximum=2000)])  # a sweep of 1600 and 2400 MHz
    unknown = "rm ../sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq"
    run = stress("--command", f"breaks={unknown}", "--idle", "1", "--break", "0", "--frequency-sweep")
    words, _ = run.communicate(timeout=30)
    assert run.returncode == 0, words
    idle, done, failed, last = manifest(tmp_path)["phases"]
    assert [phase["status"] for phase in (idle, done, failed, last)] == ["done", "done", "failed", "done"]
    assert failed["reason"].startswith("The CPUs cannot be held at 2400 MHz: ")
    assert manifest(tmp_path)["notes"] == [failed["reason"]]
    assert limits_mhz(sysfs) == {"policy0": (800, 2000)}


def test_a_schedule_that_cannot_be_written_for_a_while_loses_no_phase(stress: Stress, tmp_path: Path):
    run = stress("--command", "a=mkdir stress.json", "--command", "b=rmdir stress.json", "--idle", "0", "--break", "0")
    words, _ = run.communicate(timeout=30)
    assert run.returncode == 0, words
    assert "stress.json is a folder: choose another name for the file. What was measured is kept" in words
    assert [phase["load"] for phase in manifest(tmp_path)["phases"]] == ["a", "b"]


def test_when_its_launcher_is_killed_the_load_goes_too_and_the_rest_runs_on(stress: Stress, tmp_path: Path):
    run = stress(
        *["--load", "cpu", "--command", "hidden=sh -c 'setsid sleep 300 & sleep 300'", "--command", "last=true"],
        *["--instances", "2", "--timeout", "60", "--idle", "0", "--break", "0"],
    )
    for started in ("stress-ng-cpu", "sleep"):
        assert eventually(lambda started=started: names_in(tmp_path / "run").count(started) == 2)
        [launcher] = [pid for pid in running_in(tmp_path / "run") if b"stress.launcher import" in command_line(pid)]
        os.kill(launcher, signal.SIGKILL)
        assert eventually(lambda started=started: started not in names_in(tmp_path / "run"))
    words, _ = run.communicate(timeout=30)
    assert run.returncode == 0, words
    assert [phase["status"] for phase in manifest(tmp_path)["phases"]] == ["failed", "failed", "done"]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_preview_runs_nothing_and_says_what_is_missing(
    sysfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before = contents(tmp_path)
    monkeypatch.chdir(tmp_path)
    options = ["--load", "cpu", "--load", "nosuchload", "--instances", "1", "--frequency-sweep", "--state", "state"]
    assert in_process(monkeypatch, "--dry-run", *options, "--sysfs", str(sysfs)) == 0
    *table, missing = capsys.readouterr().out.splitlines()
    assert table == [
        "phase  load        instances  frequency   time",
        "    1  idle                -   as it is  100 s",
        "    2  cpu                 1   1600 MHz   20 s",
        "    3  nosuchload          1   1600 MHz   20 s  missing: will not run",
        "    4  idle                -   as it is  100 s",
        "3 phases, 3 min 50 s with breaks of 5 s between them.",
    ]
    assert missing.startswith("warning: The load nosuchload will be left out: There is no load")
    assert contents(tmp_path) == before


def test_where_cpufreq_is_missing_the_sweep_is_left_out_and_the_manifest_says_so(
    stress: Stress, tmp_path: Path, sysfs: Path
):
    shutil.rmtree(sysfs)
    make_sysfs(sysfs, [])
    run = stress("--command", "quick=true", "--idle", "0", "--frequency-sweep")
    words, _ = run.communicate(timeout=30)
    assert run.returncode == 0
    assert manifest(tmp_path)["notes"] == [words.splitlines()[0].removeprefix("warning: ")]
    assert manifest(tmp_path)["notes"][0].startswith("The frequency sweep is left out: there is no cpufreq")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--instances", "1,none"], 2, "--instances '1,none': write whole numbers"),
        (["--load", "cpu;a"], 2, "The load 'cpu;a' is not of the form"),
        (["--command", "nosuchprogram"], 2, "There is no program 'nosuchprogram'"),
        (["-o", "taken"], 2, "taken.json holds something else and is left as it is"),
        (["--command", "broken=false", "--idle", "0"], 3, "No load could run on this machine"),
    ],
)
def test_what_cannot_work_is_one_sentence(
    sysfs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    sentence: str,
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.json").write_text("mine")
    assert in_process(monkeypatch, *arguments, "--sysfs", str(sysfs), "--state", str(tmp_path / "state")) == code
    [words] = capsys.readouterr().err.splitlines()
    assert sentence in words
    assert (tmp_path / "taken.json").read_text() == "mine"


def in_process(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of `kepler-train stress …`."""
    monkeypatch.delenv("DATAPATH", raising=False)
    monkeypatch.setattr("sys.argv", ["kepler-train", "stress", *arguments])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
