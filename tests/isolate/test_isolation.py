"""Dynamic power: the background removed, shares that add up, never below 0 W."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from rows import DRAM, FEATURES, PACKAGE, container_rows, file_of, isolated, node_rows, with_work

from kepler_train.catalog import catalog
from kepler_train.catalog.methods import ATTRIBUTION_RULES
from kepler_train.errors import UserError
from kepler_train.isolate.attribution import UNATTRIBUTED
from kepler_train.isolate.clipping import clipping_warnings, subtract_background
from kepler_train.isolate.containers import Batch, WindowIndex, batches, pod_of
from kepler_train.isolate.hints import Hints
from kepler_train.isolate.isolation import attributed_file, isolate_containers
from kepler_train.isolate.profile import BackgroundProfile
from kepler_train.isolate.profiling import profile_node
from kepler_train.isolate.removal import Removal, remove_constant, remove_predicted, remove_profile
from kepler_train.spec import RunSpec

STRESS, SYSTEM, WEB = "7f/stress-0/stress/load", "system_processes/system_processes/system", "9a/web-5d/web/shop"


def profile(node: pd.DataFrame, containers: pd.DataFrame) -> dict[str, BackgroundProfile]:
    """The profile of the idle rows of node a."""
    with file_of(containers) as file:
        return {"a": profile_node(node, [file], "bpf_cpu_time_ms", seconds=15, node_type=0, machine=None)}


def test_min_removes_the_least_power_of_each_node_and_component() -> None:
    rows = pd.concat([node_rows([30, 20, 50], [5, 4, 9]), node_rows([130, 120, 150], [3, 3, 3], "b")])
    rows = rows.reset_index(drop=True)
    work = container_rows(rows, WEB, [1.0] * 6)
    found, _ = isolated(with_work(rows, work), work, remove_constant(rows, "min"))
    assert found.node[PACKAGE].tolist() == [10, 0, 30, 10, 0, 30]
    assert found.node[DRAM].tolist() == [1, 0, 5, 0, 0, 0]
    assert found.removed["b"][PACKAGE].watts == 120
    assert found.removed["b"][PACKAGE].clipped == 0  # the least power is no less than itself


def test_none_removes_nothing() -> None:
    node = node_rows([30, 20], [5, 4])
    work = container_rows(node, WEB, [1.0, 2.0])
    found, rows = isolated(with_work(node, work), work, remove_constant(node, "none"))
    assert found.node[PACKAGE].tolist() == rows[PACKAGE].tolist() == [30, 20]


def test_the_worked_example_of_the_page_on_isolation() -> None:
    # Two idle windows, then two with a load: docs/isolation.md does this with a calculator.
    node = node_rows([19, 21, 50, 80], [5, 5, 6, 8], workload=["idle", "idle", "cpu", "cpu"])
    containers = pd.concat(
        [
            container_rows(node, SYSTEM, [90, 110, 100, 200], [4, 4, 4, 8]),
            container_rows(node[2:], STRESS, [900, 1900], [2, 2]),
        ]
    )
    node = with_work(node, containers)
    found, rows = isolated(node, containers, remove_profile(node, profile(node, containers)), "main-feature")
    # Idle: 20 W and 100 ms/s. 19 W is 1 W too little: one row of four is clipped.
    assert found.node[PACKAGE].tolist() == [0, 1, 30, 60]
    assert (found.removed["a"][PACKAGE].clipped, found.removed["a"][PACKAGE].cut_watts) == (1, 1.0)
    # The system does 10 ms/s more than at idle in the second window and 100 ms/s more in the last.
    assert found.node["bpf_cpu_time_ms"].tolist() == [0, 10, 900, 2000]
    shares = rows.pivot_table(index="time", columns="container", values=PACKAGE, aggfunc="sum").to_numpy().tolist()
    np.testing.assert_allclose(shares, [[np.nan, 1], [30, np.nan], [57, 3]])  # load, system
    # dram: the system's page cache hits exceed 4/s in the last window only: 4 of 6; the others have their own 2.
    dram = rows.pivot_table(index="time", columns="container", values=DRAM, aggfunc="sum")
    assert dram[STRESS].tolist()[1:] == [1.0, 1.0]
    assert dram[SYSTEM].tolist()[-1] == 2.0


def a_profile(node: pd.DataFrame, containers: pd.DataFrame) -> Removal:
    return remove_profile(node, profile(node, containers))


def a_model(node: pd.DataFrame, containers: pd.DataFrame) -> Removal:
    def predict(usage: pd.DataFrame) -> dict[str, np.ndarray]:
        return {PACKAGE: 3 + usage["bpf_cpu_time_ms"].to_numpy(), DRAM: usage["bpf_page_cache_hit"].to_numpy()}

    return remove_predicted(node, Hints(["c1"], []), {"BPFOnly": predict})


REMOVALS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Removal]] = {
    "none": lambda node, _: remove_constant(node, "none"),
    "min": lambda node, _: remove_constant(node, "min"),
    "profile": a_profile,
    "trainer": a_model,
}
watts = st.floats(0, 1e4, allow_subnormal=False)
work = st.one_of(st.just(0.0), st.floats(0, 1e12, allow_subnormal=False))


@pytest.mark.parametrize("rule", ATTRIBUTION_RULES)
@pytest.mark.parametrize("isolator", REMOVALS)
@given(
    st.integers(2, 6).flatmap(
        lambda windows: st.tuples(
            st.lists(watts, min_size=windows, max_size=windows),
            st.lists(st.lists(work, min_size=windows, max_size=windows), min_size=1, max_size=4),
        )
    )
)
@settings(max_examples=15)
def test_shares_add_up_to_the_dynamic_power_of_the_node_at_every_instant(
    isolator: str, rule: str, given: tuple[list[float], list[list[float]]]
) -> None:
    package, loads = given
    node = node_rows(package, package[::-1])
    containers = pd.concat(
        [container_rows(node, f"id/c{number}/n{number}/s", own, own[::-1]) for number, own in enumerate(loads)]
    )
    node = with_work(node, containers)
    found, rows = isolated(node, containers, REMOVALS[isolator](node, containers), rule)
    summed = rows.groupby("time")[[PACKAGE, DRAM]].sum().reindex(node["time"], fill_value=0.0)
    for column in (PACKAGE, DRAM):
        assert (rows[column] >= 0).all()
        np.testing.assert_allclose(summed[column], found.node[column], rtol=1e-9, atol=0)
    beyond = rows.groupby("time")[FEATURES].sum().reindex(node["time"], fill_value=0.0)
    np.testing.assert_allclose(beyond, found.node[FEATURES], rtol=1e-9, atol=1e-9 * max(map(max, loads)))
    nobody = rows[rows["container"] == UNATTRIBUTED]
    assert (nobody[FEATURES] == 0).all(axis=None)
    assert not rows.duplicated(["time", "container"]).any()


@given(st.lists(watts, min_size=2, max_size=30), st.floats(0, 1e4))
@settings(max_examples=20)
def test_every_row_below_the_background_is_counted(package: list[float], least: float) -> None:
    node = node_rows(package, package)
    work = container_rows(node, WEB, [1.0] * len(package))
    node = with_work(node, work)
    found, _ = isolated(node, work, remove_profile(node, {"a": _at(profile(node, work)["a"], least)}))
    below = [least - watts for watts in package if watts < least]
    lost = found.removed["a"][PACKAGE]
    assert (lost.clipped, lost.rows, lost.watts) == (len(below), len(package), pytest.approx(least))
    assert lost.cut_watts == pytest.approx(np.mean(below) if below else 0.0)


def _at(profile: BackgroundProfile, watts: float) -> BackgroundProfile:
    power = {name: one.model_copy(update={"mean": watts}) for name, one in profile.power.items()}
    return profile.model_copy(update={"power": power})


def test_main_feature_shares_each_component_by_its_own_feature() -> None:
    node = node_rows([100.0], [10.0])
    containers = pd.concat([container_rows(node, "x", [300.0], [0.0001]), container_rows(node, "y", [100.0], [7.9999])])
    _, rows = isolated(with_work(node, containers), containers, remove_constant(node, "none"))
    assert rows[PACKAGE].tolist() == [75, 25]
    np.testing.assert_allclose(rows[DRAM], [0.000125, 9.999875])


def test_proportional_finds_what_each_kind_of_work_costs() -> None:
    # 0.02 W per ms/s and 0.5 W per hit/s made these watts; x does one kind of work, y the other.
    cpu, hits = [1000.0, 2000.0, 500.0], [10.0, 4.0, 30.0]
    node = node_rows([0.02 * c + 0.5 * h for c, h in zip(cpu, hits, strict=True)], [0, 0, 0])
    nothing = [0.0] * 3
    containers = pd.concat([container_rows(node, "x", cpu, nothing), container_rows(node, "y", nothing, hits)])
    containers.loc[containers["container"] == "x", "bpf_page_cache_hit"] = 0.0
    found, rows = isolated(with_work(node, containers), containers, remove_constant(node, "none"), "proportional")
    np.testing.assert_allclose(rows.loc[rows["container"] == "x", PACKAGE], [20, 40, 10])
    np.testing.assert_allclose(rows.loc[rows["container"] == "y", PACKAGE], [5, 2, 15])
    weights = found.shares[PACKAGE].as_weights()["a"]
    assert weights["bpf_cpu_time_ms"] / weights["bpf_page_cache_hit"] == pytest.approx(0.02 / 0.5)


def test_power_of_a_window_without_any_work_is_nobodys_and_has_a_row() -> None:
    node = node_rows([50, 40, 60], [0, 0, 0])
    containers = container_rows(node[:2], WEB, [10.0, 0.0])
    _, rows = isolated(with_work(node, containers), containers, remove_constant(node, "none"))
    assert rows.set_index(["time", "container"])[PACKAGE].to_dict() == {
        (node["time"][0], WEB): 50,
        (node["time"][1], WEB): 0,
        (node["time"][1], UNATTRIBUTED): 40,
        (node["time"][2], UNATTRIBUTED): 60,
    }


def test_containers_of_two_nodes_share_the_power_of_their_own() -> None:
    node = pd.concat([node_rows([10.0], [1.0], "a"), node_rows([70.0], [2.0], "b")], ignore_index=True)
    containers = pd.concat([container_rows(node[node["node"] == name], WEB, [5.0]) for name in ("b", "a")])
    _, rows = isolated(with_work(node, containers), containers, remove_constant(node, "none"))
    assert dict(zip(rows["node"], rows[PACKAGE], strict=True)) == {"a": 10, "b": 70}


def test_with_a_model_the_load_gets_what_the_background_does_not_explain() -> None:
    node = node_rows([50, 9, 60], [4, 4, 4])
    containers = pd.concat([container_rows(node, SYSTEM, [10, 10, 20]), container_rows(node[:1], "id/c1/x/y", [100.0])])
    node = with_work(node, containers)
    found, rows = isolated(node, containers, a_model(node, containers))
    # 3 W + 1 W per ms/s of the background: 13, 13, 23 W.
    assert found.node[PACKAGE].tolist() == [37, 0, 37]
    assert (found.removed["a"][PACKAGE].clipped, found.removed["a"][PACKAGE].cut_watts) == (1, 4.0)
    assert rows[["container", PACKAGE]].to_numpy().tolist() == [["id/c1/x/y", 37], [UNATTRIBUTED, 37]]
    assert found.node["bpf_cpu_time_ms"].tolist() == [100, 0, 0]


def test_batches_of_any_size_give_the_same_rows(tmp_path: Path) -> None:
    chance = np.random.default_rng(4)
    node = pd.concat([node_rows([*chance.uniform(20, 90, 50)], [5.0] * 50, name) for name in ("a", "b")])
    node = node.reset_index(drop=True)
    containers = pd.concat([container_rows(node, f"id/p{n}/c/s", [*chance.exponential(9, 100)]) for n in range(7)])
    containers = containers.sample(frac=0.8, random_state=1)
    containers.to_parquet(tmp_path / "c.parquet", index=False, row_group_size=90)
    windows = WindowIndex(node[10:].reset_index(drop=True))
    whole = list(batches([tmp_path / "c.parquet"], windows, FEATURES))
    small = list(batches([tmp_path / "c.parquet"], windows, FEATURES, size=13))
    assert (len(whole) < 8, len(small) > 40) == (True, True)

    def joined(parts: list[Batch]) -> pd.DataFrame:
        names = [one.names[code] for one in parts for code in one.codes]
        columns = {name: np.concatenate([one.features[name] for one in parts]) for name in FEATURES}
        return pd.DataFrame({"row": np.concatenate([one.rows for one in parts]), "name": names, **columns})

    pd.testing.assert_frame_equal(joined(whole), joined(small))
    kept = containers[containers.set_index(["node", "time"]).index.isin(node[10:].set_index(["node", "time"]).index)]
    assert len(joined(whole)) == len(kept) < len(containers)


def test_a_long_file_is_read_with_the_memory_of_a_batch(tmp_path: Path) -> None:
    node = node_rows([50.0] * 20_000, [5.0] * 20_000)
    schema = pa.Schema.from_pandas(container_rows(node, WEB, [1.0] * 20_000), preserve_index=False)
    with pq.ParquetWriter(tmp_path / "c.parquet", schema) as file:
        for number in range(40):
            work = np.random.default_rng(number).exponential(9, 20_000).tolist()
            rows = container_rows(node, f"id/p{number}/c/s", work, work[::-1])
            file.write_table(pa.Table.from_pandas(rows, schema, preserve_index=False))
    before = most = pa.total_allocated_bytes()
    count = 0
    for batch in batches([tmp_path / "c.parquet"], WindowIndex(node), FEATURES, size=10_000):
        most, count = max(most, pa.total_allocated_bytes()), count + len(batch.rows)
    assert count == 800_000
    assert (tmp_path / "c.parquet").stat().st_size > 10_000_000
    assert most - before < 3_000_000  # bytes


def test_a_feature_of_the_node_is_no_work_of_its_containers(tmp_path: Path) -> None:
    features = ("cpu_scaling_frequency_hertz", "node_page_faults", "cache_miss")
    assert [catalog().adds_up(name) for name in features] == [0, 0, 1]
    assert catalog().adds_up("cpu_usage_ratio")  # shared by CPU time
    node = node_rows([50, 70], [0, 0]).assign(node_page_faults=[8.0, 9.0])
    containers = node[["time", "node", "node_page_faults"]].assign(container=WEB)
    containers.to_parquet(tmp_path / "c.parquet", index=False)
    groups = {"ThirdParty": ["node_page_faults"]}
    isolate_containers(node, [tmp_path / "c.parquet"], groups, remove_constant(node, "min"), "proportional", tmp_path)
    rows = pd.read_parquet(tmp_path / attributed_file("ThirdParty"))
    assert rows.groupby("container")[PACKAGE].sum().to_dict() == {WEB: 0, UNATTRIBUTED: 20}


HINTED = [STRESS, SYSTEM, WEB, "ab/web-77/web/shop"]


@pytest.mark.parametrize(
    ("target", "background", "load"),
    [
        (["stress"], [], [STRESS]),
        ([], ["system", "^web-"], [STRESS]),
        (["web-77"], ["web"], ["ab/web-77/web/shop"]),  # both: the target's decide
        (["stress", "web-(5d|77)"], [], [STRESS, WEB, "ab/web-77/web/shop"]),
        (["shop"], [], None),  # a namespace is no pod
        ([], ["nothing"], None),
        (["."], [], None),
        ([], ["stress", "web", "system"], None),
    ],
)
def test_hints_tell_the_load_from_the_background(target: list[str], background: list[str], load: list[str]) -> None:
    hints = Hints(target, background)
    if load is None:
        with pytest.raises(UserError, match=r"match (no|every) pod") as refused:
            hints.check(HINTED)
        assert str(refused.value).endswith(("narrow them.", "web-5d, web-77."))
    else:
        hints.check(HINTED)
        assert [name for name in HINTED if not hints.is_background(name)] == load


@given(st.lists(st.from_regex(r"[a-z0-9]{1,6}(-[a-z0-9]{1,4})?", fullmatch=True), min_size=1, max_size=6, unique=True))
def test_a_hint_is_either_refused_or_leaves_both_a_load_and_a_background(pods: list[str]) -> None:
    names = [f"id/{pod}/c/ns" for pod in pods]
    hints = Hints([pods[0]], [])
    try:
        hints.check(names)
    except UserError:
        assert all(pods[0] in pod for pod in pods)
    else:
        assert {hints.is_background(name) for name in names} == {True, False}


def test_pods_are_found_in_ids_of_every_kepler() -> None:
    assert pod_of(STRESS) == "stress-0"
    assert pod_of("7f/web/containerd/6e-pod") == "web"  # no pod names there: the container's own
    assert (pod_of(SYSTEM), pod_of("system_processes")) == ("system_processes", "system_processes")


def test_a_rule_that_is_not_there_is_said_to_be_so() -> None:
    with pytest.raises(ValidationError, match="did you mean 'main-feature'"):
        RunSpec(attribution="main_feature")


def test_cuts_by_noise_are_counted_and_deeper_ones_are_a_warning() -> None:
    node = node_rows([20.0] * 88 + [19.0] * 6 + [17.9] * 6, [5.0] * 100)
    of_background = {PACKAGE: np.full(100, 20.0)}
    _, removed = subtract_background(
        node, of_background, {PACKAGE: np.full(100, 1.0)}
    )  # σ = 1 W: 2.1 W is more than 2 σ
    lost = removed["a"][PACKAGE]
    assert (lost.clipped, lost.beyond_noise, lost.cut_watts) == (12, 6, pytest.approx(1.55))
    assert clipping_warnings(removed) == [
        "Of the rows of a more than 5 % have less power than the background, by more than noise, and count as 0 W:"
        " rapl-sysfs/package 6.0 %."
    ]
    _, calmer = subtract_background(node, of_background, {PACKAGE: np.full(100, 1.06)})
    assert (calmer["a"][PACKAGE].clipped, clipping_warnings(calmer)) == (12, [])
    _, unknown = subtract_background(node, of_background, {})  # of a model
    assert unknown["a"][PACKAGE].beyond_noise == 12
