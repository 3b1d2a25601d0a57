"""Which isolator is used, and why: profiles that fit, and those that do not."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from rows import FEATURES, PACKAGE, container_rows, node_rows, with_work

from kepler_train.errors import UserError
from kepler_train.isolate.isolator_choice import Choice, choose
from kepler_train.isolate.isolators import check_isolation
from kepler_train.isolate.profile import BackgroundNames, BackgroundProfile
from kepler_train.isolate.profiling import profile_node, scheduled_profiles
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.machine.spec import MachineSpec
from kepler_train.spec import RunSpec

XEON = MachineSpec(processor="intel_xeon", cores=16, chips=2)
SERVICE, LOAD = "1a/etcd-0/etcd/kube-system", "2b/stress-0/stress/load"


def frames(folder: Path, idle: int, loaded: int = 4, node: str = "a") -> tuple[pd.DataFrame, Path]:
    """Windows of 15 s, the first ones idle at 20 W; a load of 50 W follows."""
    rows = node_rows([20.0] * idle + [70.0] * loaded, [5.0] * (idle + loaded), node, ["idle"] * idle + ["cpu"] * loaded)
    containers = pd.concat(
        [
            container_rows(rows, SERVICE, [100.0] * (idle + loaded)),
            container_rows(rows[idle:], LOAD, [900.0] * loaded),
        ]
    )
    containers.to_parquet(folder / "containers.parquet", index=False)
    return with_work(rows, containers), folder / "containers.parquet"


@pytest.fixture
def stored(tmp_path: Path) -> BackgroundProfile:
    node, containers = frames(tmp_path, idle=8)
    return profile_node(node, [containers], "bpf_cpu_time_ms", 100, node_type=3, machine=XEON)


def chosen(
    asked: str, folder: Path, stored: BackgroundProfile | None, idle: int, machine: MachineSpec | None = XEON
) -> Choice:
    node, containers = frames(folder, idle)
    profiles = {ANY_NODE: stored} if stored else {}
    machines = {"a": machine}
    own = scheduled_profiles(node, [containers], 3, machines)
    return choose(asked, node, FEATURES, profiles, own, 3, machines)


def test_auto_takes_the_stored_profile_then_the_idle_phases_then_the_minimum(
    stored: BackgroundProfile, tmp_path: Path
) -> None:
    first = chosen("auto", tmp_path, stored, idle=8)
    assert (first.isolator, first.profiles) == ("profile", {"a": stored})
    assert first.why == "there is a profile of node type 3, of 120 s of a on 2026-11-14"
    second = chosen("auto", tmp_path, None, idle=8)
    assert second.isolator == "profile"
    assert second.why == "there is no profile of node type 3, but the schedule has idle phases of 120 s on a"
    assert second.profiles["a"].power == stored.power
    assert second.profiles["a"].containers == stored.containers
    third = chosen("auto", tmp_path, None, idle=6)  # 90 s
    assert (third.isolator, third.profiles) == ("min", {})
    assert third.why == "there is no profile of node type 3, and no schedule has 100 s of idle on a"


def test_what_is_asked_for_is_used(stored: BackgroundProfile, tmp_path: Path) -> None:
    for name in ("none", "min", "trainer"):
        assert chosen(name, tmp_path, stored, idle=8) == Choice(name, "it was asked for", {})
    assert chosen("profile", tmp_path, stored, idle=0).isolator == "profile"
    with pytest.raises(UserError, match=r"nothing to remove: .* make one with `kepler-train profile`"):
        chosen("profile", tmp_path, None, idle=0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"node_type": 1}, "it is of node type 1, not of 3"),
        (
            {"machine": XEON.model_copy(update={"cores": 8})},
            "it is of a machine with cores 8, and this one has cores 16",
        ),
        ({"power": {}}, "it knows no power of rapl-sysfs/package_power, rapl-sysfs/dram_power"),
        ({"usage": {"bpf_cpu_time_ms": 5.0}}, "it knows no usage of bpf_page_cache_hit"),
    ],
)
def test_a_profile_that_does_not_fit_is_not_used(
    change: dict[str, object], why: str, stored: BackgroundProfile, tmp_path: Path
) -> None:
    other = stored.model_copy(update=change)
    found = chosen("auto", tmp_path, other, idle=0)
    assert found.isolator == "min"
    assert found.why.startswith(f"the stored profile cannot be used: {why}, and no schedule has")
    with pytest.raises(
        UserError, match=f"nothing to remove: the stored profile cannot be used: {why}, and no schedule"
    ):
        chosen("profile", tmp_path, other, idle=0)
    for isolator in ("auto", "profile"):  # the run's own idle time will do
        scheduled = chosen(isolator, tmp_path, other, idle=8)
        assert scheduled.isolator == "profile"
        assert scheduled.why == (
            f"the stored profile cannot be used: {why}, but the schedule has idle phases of 120 s on a"
        )
        assert scheduled.profiles["a"].power == stored.power


def test_what_is_not_known_of_a_machine_is_no_difference(stored: BackgroundProfile, tmp_path: Path) -> None:
    assert chosen("profile", tmp_path, stored, 0, machine=None).isolator == "profile"
    assert chosen("profile", tmp_path, stored, 0, machine=MachineSpec(cores=16, memory=64)).isolator == "profile"


def test_every_node_needs_a_profile_of_its_own(stored: BackgroundProfile, tmp_path: Path) -> None:
    node, containers = frames(tmp_path, idle=8)
    two = pd.concat([node, node.assign(node="b")], ignore_index=True)
    found = choose("auto", two, FEATURES, {"a": stored}, scheduled_profiles(two, [containers], 3, {}), 3, {})
    assert found.why.startswith("the stored profile cannot be used: it is of a, not of b, but the schedule has")
    idle_on_one = two.assign(workload=[name if at < len(node) else "cpu" for at, name in enumerate(two["workload"])])
    assert scheduled_profiles(idle_on_one, [containers], 3, {}) == {}


def test_the_background_is_found_again_under_other_ids() -> None:
    legacy = BackgroundNames({"1a/web-5d/web/shop": 1, "system_processes/system_processes/system": 1, "///": 1})
    assert legacy.has("77/web-9c/web/shop")  # another pod of the same container
    assert legacy.has("77/web-5d/proxy/shop")  # another container of the same pod
    assert not legacy.has("77/web-9c/web/blog")
    assert not legacy.has("88///")
    assert legacy.has("system_processes/system_processes/system_processes/system")
    current = BackgroundNames({"1a/web/containerd/6e": 1, "2b/cron/docker/": 1, "system_processes": 1})
    assert current.has("99/web/containerd/7f")
    assert current.has("99/other/containerd/6e")
    assert not current.has("99/other/docker/")  # no pod: the runtime alone tells nothing
    assert current.has("system_processes")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "name one in abs_pipeline"),
        ({"abs_pipeline": "lab"}, "in target_hints or bg_hints"),
    ],
)
def test_trainer_needs_a_pipeline_and_hints(more: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        check_isolation(RunSpec(isolator="trainer", **more))
    check_isolation(RunSpec(isolator="trainer", abs_pipeline="lab", bg_hints=["etcd"]))


def test_a_profile_of_the_run_itself_removes_its_own_mean(tmp_path: Path) -> None:
    node, containers = frames(tmp_path, idle=8)
    own = scheduled_profiles(node, [containers], 3, {})["a"]
    assert own.power[PACKAGE].mean == 20
    assert own.usage == {"bpf_cpu_time_ms": 100, "bpf_page_cache_hit": 100}
    assert own.containers == {SERVICE: {"bpf_cpu_time_ms": 100, "bpf_page_cache_hit": 100}}
    assert (own.rows, own.window_seconds, own.chosen) == (8, 15, "schedule")
