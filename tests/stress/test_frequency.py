"""CPU frequencies on a tree of files: held on all CPUs, and put back exactly, whatever happens in between."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_sysfs import Cpu, contents, limits_mhz, make_sysfs
from hypothesis import given, settings
from hypothesis import strategies as st
from killing import Arm, count_file_operations, killed_at_each_point

from kepler_train.errors import UserError
from kepler_train.stress import frequency
from kepler_train.stress.frequency import Cpufreq, NoSweep

# Two kinds of cores, CPU 1 shares the frequency of CPU 0, and a narrowed range on CPU 3.
FOUR = [Cpu(), Cpu(shares=0), Cpu(highest=2200, maximum=2200), Cpu(minimum=1000, maximum=1500, governor="powersave")]


def as_the_kernel_does(state: Path, fails: Callable[[Path], bool] = lambda _: False) -> Callable[[Path, int], None]:
    """A write that refuses what the kernel refuses, and must find on disk how it was before the first change."""

    def write(file: Path, khz: int) -> None:
        assert (state / "cpufreq.json").is_file()
        if fails(file):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(file))
        other = int((file.parent / ("scaling_max_freq" if "min" in file.name else "scaling_min_freq")).read_text())
        if (khz > other) if "min" in file.name else (khz < other):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(file))
        file.write_text(f"{khz}\n")

    return write


def test_all_cpus_are_held_at_a_frequency_that_each_can_do_and_put_back(tmp_path: Path):
    sysfs = make_sysfs(tmp_path / "sys", FOUR)
    before = contents(sysfs)
    cpufreq = Cpufreq(sysfs, tmp_path / "state")
    assert cpufreq.sweep() == [1600, 2400, 3200]  # 800 + 800 up to 3500
    cpufreq.hold(2400)
    assert limits_mhz(sysfs) == {"policy0": (2400, 2400), "policy2": (2200, 2200), "policy3": (2400, 2400)}
    cpufreq.hold(1600)
    assert set(limits_mhz(sysfs).values()) == {(1600, 1600)}
    assert cpufreq.put_back() == ""
    assert contents(sysfs) == before
    assert not cpufreq.held


def test_the_frequency_seen_is_the_mean_over_cpus_that_are_online(tmp_path: Path):
    cpus = [Cpu(now=3000), Cpu(shares=0), Cpu(now=1000), Cpu(now=800, online=False)]
    assert Cpufreq(make_sysfs(tmp_path, cpus), tmp_path / "state").seen_mhz() == pytest.approx((3000 + 3000 + 1000) / 3)


MHZ = st.integers(min_value=100, max_value=6000)


@st.composite
def some_cpus(draw: st.DrawFn) -> list[Cpu]:
    cpus: list[Cpu] = []
    for number in range(draw(st.integers(1, 4))):
        lowest, minimum, maximum, highest = sorted(draw(st.tuples(MHZ, MHZ, MHZ, MHZ)))
        shares = draw(st.sampled_from([None, 0])) if number else None
        cpus.append(Cpu(lowest, highest, minimum, maximum, shares=shares, online=number == 0 or draw(st.booleans())))
    return cpus


@settings(deadline=None, max_examples=60)
@given(cpus=some_cpus(), asked=st.lists(MHZ, min_size=1, max_size=3), fails_at=st.integers(0, 20))
def test_any_tree_is_put_back_exactly_also_when_a_write_fails(
    tmp_path_factory: pytest.TempPathFactory, cpus: list[Cpu], asked: list[int], fails_at: int
):
    folder = tmp_path_factory.mktemp("machine")
    sysfs, state = make_sysfs(folder / "sys", cpus), folder / "state"
    before = contents(sysfs)
    writes: list[Path] = []

    def fails(file: Path) -> bool:
        writes.append(file)
        return len(writes) - 1 == fails_at

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frequency, "_write", as_the_kernel_does(state, fails))
        cpufreq = Cpufreq(sysfs, state)
        try:
            for mhz in asked:
                cpufreq.hold(mhz)
        except NoSweep:
            assert len(writes) > fails_at  # nothing else may go wrong, above all not the order of the limits
            assert contents(sysfs) == before  # at once: no phase shall run on half of the CPUs
        cpufreq.put_back()
        assert cpufreq.put_back() == ""  # the write that failed may have been one of the putting back
    assert contents(sysfs) == before
    assert not list(state.iterdir())
    shutil.rmtree(folder)


def test_killed_at_any_point_the_next_run_finds_how_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    places: list[Path] = []

    def sweep(k: int) -> Callable[[Arm], None]:
        places.append(tmp_path / str(k))
        make_sysfs(places[-1] / "sys", FOUR)

        def work(count: Arm) -> None:
            state = places[-1] / "state"
            monkeypatch.setattr(frequency, "_write", as_the_kernel_does(state))
            count_file_operations(places[-1], count)
            cpufreq = Cpufreq(places[-1] / "sys", state)
            cpufreq.hold(3200)
            cpufreq.hold(1600)
            cpufreq.put_back()

        return work

    before = contents(make_sysfs(tmp_path / "untouched", FOUR))
    changed = 0
    for _ in killed_at_each_point(sweep):
        sysfs, state = places[-1] / "sys", places[-1] / "state"
        changed += contents(sysfs) != before
        monkeypatch.setattr(frequency, "_write", as_the_kernel_does(state))
        assert Cpufreq(sysfs, state).put_back() == ""
        assert contents(sysfs) == before
    assert changed > 12  # 3 policies × 2 files × 2 frequencies, less the first write


def test_a_cpu_that_goes_offline_is_put_back_when_it_is_there_again(tmp_path: Path):
    sysfs = make_sysfs(tmp_path / "sys", [Cpu(), Cpu(minimum=1000)])
    before = contents(sysfs)
    cpufreq = Cpufreq(sysfs, tmp_path / "state")
    cpufreq.hold(2400)
    gone = sysfs / "devices/system/cpu/cpufreq/policy1"
    gone.rename(tmp_path / "policy1")
    assert "could not be put back on cpu1 (" in cpufreq.put_back()
    assert limits_mhz(sysfs) == {"policy0": (800, 3500)}
    (tmp_path / "policy1").rename(gone)
    assert limits_mhz(sysfs)["policy1"] == (2400, 2400)  # as the kernel brings it back
    cpufreq.hold(1600)  # must not take that for what it was before
    assert cpufreq.put_back() == ""
    assert contents(sysfs) == before


def test_an_offline_cpu_is_left_alone(tmp_path: Path):
    sysfs = make_sysfs(tmp_path / "sys", [Cpu(), Cpu(online=False)])
    Cpufreq(sysfs, tmp_path / "state").hold(2400)
    assert limits_mhz(sysfs) == {"policy0": (2400, 2400), "policy1": (800, 3500)}


def test_what_another_life_of_the_kernel_left_is_forgotten(tmp_path: Path):
    sysfs = make_sysfs(tmp_path / "sys", [Cpu()])
    cpufreq = Cpufreq(sysfs, tmp_path / "state")
    cpufreq.hold(2400)
    kept = tmp_path / "state" / "cpufreq.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"boot": "an earlier one"}))
    assert cpufreq.put_back() == ""
    assert limits_mhz(sysfs) == {"policy0": (2400, 2400)}  # somebody set this since: not ours
    assert not kept.exists()


@pytest.mark.parametrize("content", ["", "{}", '{"boot": "", "cpus": {"../../etc": {"min_khz": 1, "max_khz": 2}}}'])
def test_a_state_that_nobody_understands_is_refused_and_kept(tmp_path: Path, content: str):
    (tmp_path / "cpufreq.json").write_text(content)
    with pytest.raises(UserError, match=r"cpufreq\.json, which cannot be read"):
        Cpufreq(make_sysfs(tmp_path / "sys", [Cpu()]), tmp_path).put_back()
    assert (tmp_path / "cpufreq.json").read_text() == content


@pytest.mark.parametrize(
    ("cpus", "hide", "sentence"),
    [
        ([], "", "there is no cpufreq below"),
        ([Cpu()], "scaling_max_freq", "scaling_max_freq cannot be written; it needs root"),
        ([Cpu()], "cpuinfo_min_freq", "the range of the CPUs cannot be read"),
        ([Cpu(lowest=2000, highest=2700)], "", "from 2000 to 2700 MHz there is no room for a step of 800 MHz"),
    ],
)
def test_where_there_can_be_no_sweep_one_sentence_says_why(tmp_path: Path, cpus: list[Cpu], hide: str, sentence: str):
    sysfs = make_sysfs(tmp_path / "sys", cpus)
    if hide:
        (sysfs / "devices/system/cpu/cpufreq/policy0" / hide).unlink()
    with pytest.raises(NoSweep, match=sentence) as raised:
        Cpufreq(sysfs, tmp_path / "state").sweep()
    assert str(raised.value).startswith("The frequency sweep is left out: ")
    assert not (tmp_path / "state").exists()
