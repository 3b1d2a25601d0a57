"""What a run learns of the idle machine is published with its models, and the next run uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from labelled_rows import node_type
from simulated import SOURCE, Lab, write_node

from kepler_train.errors import UserError
from kepler_train.isolate.background import promote_profile, read_known_background
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.isolate.profile import BackgroundProfile, merge_profiles, profile_name, read_profile
from kepler_train.plan.background import keep_known
from kepler_train.workspace import open_store

KEY = f"profiles/{profile_name(0)}"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_node(tmp_path_factory.mktemp("measured"), hours=1)


def outcome(lab: Lab) -> Isolation:
    return Isolation.model_validate_json((lab.home / "isolate" / ISOLATION).read_bytes())


def test_a_run_without_idle_time_uses_the_profile_that_an_earlier_one_published(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = measured / "kepler_query"
    first = Lab(samples, tmp_path, "1", schedule=str(measured / "schedule.json"), output_types=["DynPower"])
    for step in ("extract", "isolate", "train", "evaluate", "export", "publish"):
        assert first.do_parts(step) == []
    assert outcome(first).why.startswith("there is no profile of node type 0, but the schedule has idle phases of ")
    profile = read_profile(tmp_path / "profiles", 0)
    assert profile is not None
    idle = pd.read_parquet(first.home / "extract" / "node.parquet").query("workload == 'idle'")
    assert profile.power[f"{SOURCE}/package_power"].mean == pytest.approx(idle[f"{SOURCE}/package_power"].mean())
    assert "publish: the background profile of node type 0 is of node-0, 2026-11-14 00:" in capsys.readouterr().out

    second = Lab(samples, tmp_path, "2", output_types=["DynPower"])
    for step in ("extract", "isolate"):
        second.do(step)
    assert outcome(second).isolator == "profile"
    assert outcome(second).why.startswith("there is a profile of node type 0, of ")
    assert outcome(second).groups["BPFOnly"].removed == outcome(first).groups["BPFOnly"].removed


def background(day: int, power: list[str], usage: list[str], node: str = "a", node_type: int = 0) -> BackgroundProfile:
    """A profile in which every number is the day of November that it was made on."""
    return BackgroundProfile.model_validate(
        {
            "node_type": node_type,
            "node": node,
            "chosen": "schedule",
            "start": f"2026-11-{day:02}T00:00:00Z",
            "end": f"2026-11-{day:02}T00:05:00Z",
            "rows": 20,
            "window_seconds": 15,
            "power": {name: {"mean": day, "median": day, "deviation": 1} for name in power},
            "usage": dict.fromkeys(usage, day),
            "containers": {f"pod-{day}": dict.fromkeys(usage, day)},
        }
    )


def test_a_later_profile_replaces_an_earlier_one_and_never_the_other_way() -> None:
    early, late = background(3, ["acpi/platform_power"], ["x"]), background(4, ["acpi/platform_power"], ["x"])
    assert merge_profiles(None, early) == early
    assert merge_profiles(early, late) == merge_profiles(late, early) == late


def test_columns_that_only_the_earlier_profile_knows_are_kept_and_no_more_of_it() -> None:
    early = background(3, ["acpi/platform_power", "rapl/core_power"], ["x", "y"])
    late = background(4, ["acpi/platform_power"], ["x"])
    both = merge_profiles(early, late)
    assert both == merge_profiles(late, early)
    assert {name: watts.mean for name, watts in both.power.items()} == {"acpi/platform_power": 4, "rapl/core_power": 3}
    assert both.usage == {"x": 4, "y": 3}
    assert both.containers == {"pod-4": {"x": 4}, "pod-3": {"y": 3}}
    assert (both.end, both.node) == (late.end, "a")
    again = merge_profiles(both, background(5, ["acpi/platform_power", "rapl/core_power"], ["x", "y"]))
    assert list(again.containers) == ["pod-5"]  # names of pods that are gone do not pile up


def test_profiles_of_different_machines_are_not_mixed() -> None:
    early, late = background(3, ["a/b_power"], ["x", "y"], node="a"), background(4, ["a/b_power"], ["x"], node="b")
    assert merge_profiles(early, late) == late  # without a node type only the same node is the same machine
    typed = [one.model_copy(update={"node_type": 7}) for one in (early, late)]
    assert merge_profiles(*typed).usage == {"x": 4, "y": 3}


def test_a_profile_without_a_node_type_serves_its_own_node_only(tmp_path: Path) -> None:
    spec = Lab.asked()
    (tmp_path / "profiles").mkdir()
    for number in (0, 7):
        profile = background(3, [], []).model_copy(update={"node_type": number})
        (tmp_path / f"profiles/node_type_{number}.json").write_text(profile.model_dump_json())
    assert list(read_known_background(tmp_path, spec, node_type(0)).profiles) == ["a"]
    assert list(read_known_background(tmp_path, spec, node_type(7)).profiles) == [""]


def test_a_profile_of_another_node_type_is_refused_by_the_plan(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    store.write("profiles/node_type_4.json", background(3, [], []).model_dump_json().encode())
    with pytest.raises(UserError, match=r"node_type_4\.json is the background profile of node type 0, not of 4") as no:
        keep_known(Lab.asked(node_type=4), store, "", tmp_path)
    assert no.value.exit_code == 2


def test_promotion_leaves_a_later_profile_and_refuses_what_is_none(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    early, late = (background(day, ["a/b_power"], ["x"]).model_dump_json().encode() for day in (3, 4))
    for content in (late, early):
        assert promote_profile(content, store).end.day == 4
    assert json.loads(store.read(KEY) or b"")["usage"] == {"x": 4}
    store.write(KEY, b"{")
    with pytest.raises(UserError, match=r"profiles/node_type_0\.json is not a background profile"):
        promote_profile(late, store)
