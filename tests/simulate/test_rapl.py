"""The virtual RAPL meter: its law, its tree, its truth, and what happens when it ends."""

from __future__ import annotations

import csv
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.simulate.cpu_usage import busy_share, cpu_ticks, packages
from kepler_train.simulate.powercap import DEFAULT_RANGE_UJ, Tree, zones
from kepler_train.simulate.rapl import LAWS, RaplMeter, rapl_meter

COMMAND = [sys.executable, "-c", "from kepler_train.cli import main; main()", "simulate", "rapl"]
LEAST_RANGE = 1_100_000_000  # µJ: ten seconds of psys at full load


class Proc:
    """A /proc/stat of two CPUs that works as it is told, and a clock beside it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.now, self._ticks = folder, 1000.0, [[0, 0], [0, 0]]
        monkeypatch.setattr("kepler_train.simulate.rapl.time.monotonic", lambda: self.now)
        monkeypatch.setattr("kepler_train.simulate.rapl.time.time", lambda: self.now)
        self.work(0, 0, 0)

    def work(self, seconds: float, *shares: float) -> None:
        self.now += seconds
        for cpu, share in zip(self._ticks, shares, strict=True):
            cpu[0] += round(100 * seconds * share)
            cpu[1] += round(100 * seconds * (1 - share))
        lines = [f"cpu{n} {busy} 0 0 {idle} 0 0 0 0 0 0\n" for n, (busy, idle) in enumerate(self._ticks)]
        (self.folder / "stat").write_text("cpu  0 0 0 0 0 0 0 0 0 0\n" + "".join(lines) + "intr 0\n")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    (tmp_path / "proc").mkdir()
    return Proc(tmp_path / "proc", monkeypatch)


def meter(tmp_path: Path, proc: Proc, count: int = 1, range_uj: int = DEFAULT_RANGE_UJ) -> RaplMeter:
    return RaplMeter(tmp_path / "sys", tmp_path / "truth.csv", count, range_uj, proc.folder)


def rows(tmp_path: Path) -> list[dict[str, str]]:
    with (tmp_path / "truth.csv").open() as lines:
        return list(csv.DictReader(lines))


def shown(tmp_path: Path, folder: str) -> int:
    return int((tmp_path / "sys/class/powercap" / folder / "energy_uj").read_text())


@pytest.mark.parametrize(
    ("zone", "idle", "half", "full"),
    [("package", 20, 54.4609, 80), ("core", 8, 32.1150, 53), ("dram", 3, 6, 9), ("psys", 35, 76.6089, 110)],
)
def test_power_is_idle_and_a_power_of_the_busy_share(zone: str, idle: float, half: float, full: float) -> None:
    watts = [LAWS[zone].watts(u) for u in (0, 0.5, 1)]
    assert watts == pytest.approx([idle, half, full], abs=1e-4)


@given(st.floats(0, 1))
def test_psys_feeds_package_and_dram_at_every_load(u: float) -> None:
    assert LAWS["psys"].watts(u) > LAWS["package"].watts(u) + LAWS["dram"].watts(u)


def test_a_second_of_one_busy_cpu_of_two_is_the_law_at_one_half(tmp_path: Path, proc: Proc) -> None:
    m = meter(tmp_path, proc)
    proc.work(1, 1, 0)
    m.tick()
    assert shown(tmp_path, "intel-rapl:0") == 1_054_460_950  # µJ: 20 + 60·0.5^0.8 W
    assert shown(tmp_path, "intel-rapl:0:1") == 1_006_000_000  # dram: 6 W
    start, row = rows(tmp_path)
    assert (start["u"], start["package-0_watts"], start["package-0_joules"]) == ("", "0.0000", "1000.000000")
    assert (row["time"], row["u"], row["dram_watts"]) == ("1001.000", "0.500000", "6.0000")
    assert float(row["dram_joules"]) == 1006


def test_a_late_tick_loses_nothing(tmp_path: Path, proc: Proc) -> None:
    m = meter(tmp_path, proc)
    proc.work(7.5, 1, 1)
    m.tick()
    assert m.energy["package-0"] == (1000 + 7.5 * 80) * 1e6


def test_a_tick_without_counted_time_waits_for_the_next(tmp_path: Path, proc: Proc) -> None:
    m = meter(tmp_path, proc)
    proc.now += 0.001
    m.tick()
    assert len(rows(tmp_path)) == 1
    proc.work(0.999, 0, 0)
    m.tick()
    assert m.energy["core"] == 1_008_000_000  # 8 W for the whole second


def test_counters_wrap_and_the_wrapped_deltas_add_up_to_the_truth(tmp_path: Path, proc: Proc) -> None:
    m = meter(tmp_path, proc, range_uj=LEAST_RANGE)
    seen, total, wraps = shown(tmp_path, "intel-rapl:1"), 0, 0
    for step in range(200):
        proc.work(1.25, step % 4 / 4, 1)
        m.tick()
        now = shown(tmp_path, "intel-rapl:1")
        assert 0 <= now < LEAST_RANGE
        wraps += now < seen
        total += now - seen if now >= seen else LEAST_RANGE - seen + now  # as Kepler computes it
        seen = now
    assert wraps == int((1000 + total / 1e6) / 1100)  # psys began at 1000 J
    assert wraps > 10
    used = float(rows(tmp_path)[-1]["psys_joules"]) - float(rows(tmp_path)[0]["psys_joules"])
    assert total == round(used * 1e6)


def test_each_package_follows_its_own_cpus_and_psys_the_machine(tmp_path: Path, proc: Proc) -> None:
    m = meter(tmp_path, proc, count=2)
    proc.work(10, 1, 0)
    m.tick()
    row = rows(tmp_path)[-1]
    assert [row["u"], row["u_package-0"], row["u_package-1"]] == ["0.500000", "1.000000", "0.000000"]
    assert [float(row[f"{zone}_watts"]) for zone in ("package-0", "core-0", "dram-0")] == [80, 53, 9]
    assert [float(row[f"{zone}_watts"]) for zone in ("package-1", "core-1", "dram-1")] == [20, 8, 3]
    assert float(row["psys_watts"]) == pytest.approx(2 * 76.6089, abs=1e-3)
    names = {p.parent.name: p.read_text() for p in (tmp_path / "sys/class/powercap").glob("*/name")}
    assert names == {
        "intel-rapl:0": "package-0\n",
        "intel-rapl:0:0": "core\n",
        "intel-rapl:0:1": "dram\n",
        "intel-rapl:1": "package-1\n",
        "intel-rapl:1:0": "core\n",
        "intel-rapl:1:1": "dram\n",
        "intel-rapl:2": "psys\n",
    }


def test_the_tree_is_laid_out_as_the_kernel_does(tmp_path: Path, proc: Proc) -> None:
    meter(tmp_path, proc)
    powercap = tmp_path / "sys/class/powercap"
    assert (powercap / "intel-rapl/enabled").read_text() == "1\n"
    assert not (powercap / "intel-rapl/name").exists()  # readers tell a zone by this file
    inside = powercap / "intel-rapl:0/intel-rapl:0:1"
    assert inside.resolve() == (powercap / "intel-rapl:0:1").resolve()
    assert {p.name for p in inside.iterdir()} == {"name", "enabled", "energy_uj", "max_energy_range_uj"}
    assert (inside / "max_energy_range_uj").read_text() == "262143328850\n"


def test_a_meter_started_again_continues_tree_and_truth(tmp_path: Path, proc: Proc) -> None:
    first = meter(tmp_path, proc)
    proc.work(1, 0, 0)
    first.tick()
    first.close()
    proc.work(600, 1, 1)  # nobody meters
    second = meter(tmp_path, proc)
    assert shown(tmp_path, "intel-rapl:0") == 1_020_000_000
    proc.work(1, 0, 0)
    second.tick()
    assert shown(tmp_path, "intel-rapl:0") == 1_040_000_000
    assert [row["package-0_joules"] for row in rows(tmp_path)] == [
        "1000.000000", "1020.000000", "1020.000000", "1040.000000",
    ]  # fmt: skip
    assert [row["package-0_watts"] for row in rows(tmp_path)][2] == "0.0000"


def test_a_new_truth_begins_where_the_counters_are(tmp_path: Path, proc: Proc) -> None:
    first = meter(tmp_path, proc)
    proc.work(1, 0, 0)
    first.tick()
    first.close()
    (tmp_path / "truth.csv").unlink()
    meter(tmp_path, proc)
    assert rows(tmp_path)[0]["package-0_joules"] == "1020.000000"


def test_a_meter_killed_between_truth_and_counters_goes_on_from_the_truth(
    tmp_path: Path, proc: Proc, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = meter(tmp_path, proc)
    proc.work(1, 0, 0)
    with monkeypatch.context() as patched:
        patched.setattr(Tree, "show", lambda *_: None)
        first.tick()
    first.close()
    with (tmp_path / "truth.csv").open("a") as torn:
        torn.write("1002.000,0.5")
    assert shown(tmp_path, "intel-rapl:0") == 1_000_000_000
    meter(tmp_path, proc)
    assert shown(tmp_path, "intel-rapl:0") == 1_020_000_000
    assert [row["package-0_joules"] for row in rows(tmp_path)][-2:] == ["1020.000000", "1020.000000"]


def test_what_does_not_belong_together_is_refused(tmp_path: Path, proc: Proc) -> None:
    running = meter(tmp_path, proc)
    with pytest.raises(UserError, match="kept by another meter that still runs"):
        meter(tmp_path, proc)
    running.close()
    with pytest.raises(UserError, match="other zones or another range"):
        meter(tmp_path, proc, range_uj=LEAST_RANGE)
    with pytest.raises(UserError, match="other zones or another range"):
        meter(tmp_path, proc, count=2)
    with pytest.raises(UserError, match="give at least 1100000000"):
        RaplMeter(tmp_path / "new", tmp_path / "t.csv", 1, LEAST_RANGE - 1, proc.folder)
    truth = tmp_path / "truth.csv"
    truth.write_text(truth.read_text() + truth.read_text().splitlines()[-1].replace("1000.", "1500.") + "\n")
    Path(tmp_path / "sys/class/powercap/intel-rapl:0/energy_uj").write_text("7\n")
    with pytest.raises(UserError, match=r"package-0 ended at 1500.000 J there, the counter is at 0.000 J"):
        meter(tmp_path, proc)
    (tmp_path / "truth.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="its columns differ"):
        meter(tmp_path, proc)
    assert (tmp_path / "truth.csv").read_text() == "a,b\n1,2\n"


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot use .*nowhere/t.csv: No such file"):  # noqa: SIM117
        with rapl_meter(tmp_path / "sys", tmp_path / "nowhere" / "t.csv"):
            pass


def test_waiting_for_a_disk_is_idle_and_stolen_time_is_busy() -> None:
    stat = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 10 1 5 100 50 2 3 4 0 0\ncpu3 0 0 0 7 0 0 0 0 0 0\nintr 99\n"
    assert cpu_ticks(stat) == {0: (25, 150), 3: (0, 7)}


def test_a_cpu_that_goes_offline_or_counts_back_makes_no_share_below_0() -> None:
    before = {0: (100, 500), 1: (100, 500)}
    assert busy_share(before, {0: (150, 550)}, [0, 1]) == 0.5
    assert busy_share(before, {0: (150, 499), 1: (150, 500)}, [0, 1]) == 1.0
    assert busy_share(before, before, [0, 1]) is None


def test_cpus_are_split_by_topology_or_evenly(tmp_path: Path) -> None:
    for cpu in range(4):
        topology = tmp_path / f"devices/system/cpu/cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{cpu % 2}\n")
    assert packages(range(4), 0, tmp_path) == [[0, 2], [1, 3]]
    assert packages(range(4), 2, tmp_path) == [[0, 2], [1, 3]]
    assert packages(range(4), 1, tmp_path) == [[0, 2, 1, 3]]
    assert packages(range(4), 3, tmp_path / "none") == [[0], [1], [2, 3]]
    with pytest.raises(UserError, match="this machine has 4 CPUs"):
        packages(range(4), 5, tmp_path)


def test_a_reader_never_sees_a_torn_counter(tmp_path: Path) -> None:
    tree = Tree(tmp_path, zones(1))
    small, large = 7, 262_143_328_849
    tree.create({zone.column: small for zone in tree.zones})
    path, seen, stop = tmp_path / "class/powercap/intel-rapl:0:0/energy_uj", set(), threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for step in range(300):
        tree.show({zone.column: large if step % 2 else small for zone in tree.zones})
    stop.set()
    reader.join()
    assert seen == {f"{small}\n", f"{large}\n"}


@pytest.mark.integration
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_real_stress_ng_moves_the_meter_and_its_truth_outlives_it(tmp_path: Path, ending: signal.Signals) -> None:
    if shutil.which("stress-ng") is None:
        pytest.skip("stress-ng is not installed")
    arguments = ["--sysfs", str(tmp_path / "sys"), "--truth", str(tmp_path / "truth.csv"), "--packages", "1"]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        subprocess.run(["stress-ng", "--cpu", str(os.cpu_count()), "--timeout", "1", "-q"], check=True, timeout=30)
        time.sleep(0.5)
    finally:
        process.send_signal(ending)
        code = process.wait(10)
    last = process.stdout.read()
    process.stdout.close()
    assert first.startswith("Metering package-0, core, dram, psys below")
    found = rows(tmp_path)
    assert max(float(row["u"]) for row in found[1:]) > 0.9
    assert max(float(row["package-0_watts"]) for row in found) > 75
    for before, row in itertools.pairwise(found):
        elapsed = float(row["time"]) - float(before["time"])
        grown = float(row["package-0_joules"]) - float(before["package-0_joules"])
        assert grown == pytest.approx(float(row["package-0_watts"]) * elapsed, abs=80 * 0.02)  # clocks read apart
    if ending is signal.SIGKILL:
        return
    assert code == 0
    assert last.startswith("Stopped; ")
    assert shown(tmp_path, "intel-rapl:1") == round(float(found[-1]["psys_joules"]) * 1e6)


@pytest.mark.parametrize("tick", ["0", "60", "nan"])
def test_a_tick_out_of_range_is_refused(tmp_path: Path, tick: str) -> None:
    arguments = ["--sysfs", str(tmp_path / "sys"), "--truth", str(tmp_path / "t.csv"), "--tick", tick]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert "give 0.05 to 5 seconds" in done.stderr
    assert list(tmp_path.iterdir()) == []
