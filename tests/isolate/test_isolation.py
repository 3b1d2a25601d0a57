"""Dynamic power: idle removed, shares that add up, never below 0 W."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train.catalog import catalog
from kepler_train.errors import UserError
from kepler_train.isolate.attribution import attribute
from kepler_train.isolate.isolators import isolate

PACKAGE, DRAM = "rapl-sysfs/package_power", "rapl-sysfs/dram_power"
FEATURES = ["bpf_cpu_time_ms", "bpf_page_cache_hit"]

watts = st.floats(0, 1e4, allow_subnormal=False)
work = st.floats(0, 1e12, allow_subnormal=False)


def node_rows(package: list[float], dram: list[float], node: str = "a") -> pd.DataFrame:
    times = pd.date_range("2026-11-14", periods=len(package), freq="15s", tz="UTC")
    return pd.DataFrame({"time": times, "node": node, "workload": "", PACKAGE: package, DRAM: dram})


def container_rows(node: pd.DataFrame, loads: list[list[float]]) -> pd.DataFrame:
    """A row per window and container; `loads` by container, then window."""
    pieces = [
        node[["time", "node"]].assign(container=f"c{number}", bpf_cpu_time_ms=own, bpf_page_cache_hit=own[::-1])
        for number, own in enumerate(loads)
    ]
    return pd.concat(pieces, ignore_index=True)


def test_min_removes_the_least_power_of_each_node_and_component() -> None:
    rows = pd.concat([node_rows([30, 20, 50], [5, 4, 9]), node_rows([130, 120, 150], [3, 3, 3], "b")])
    dynamic, idle = isolate(rows, "min")
    assert dynamic[PACKAGE].tolist() == [10, 0, 30, 10, 0, 30]
    assert dynamic[DRAM].tolist() == [1, 0, 5, 0, 0, 0]
    assert idle.loc["b", PACKAGE] == 120


def test_none_removes_nothing() -> None:
    dynamic, idle = isolate(node_rows([30, 20], [5, 4]), "none")
    assert dynamic[PACKAGE].tolist() == [30, 20]
    assert (idle == 0).all(axis=None)


def test_an_isolator_that_is_not_there_is_said_to_be_so() -> None:
    with pytest.raises(UserError, match="cannot isolate by that name"):
        isolate(node_rows([30], [5]), "profile")


@given(
    st.integers(1, 6).flatmap(
        lambda windows: st.tuples(
            st.lists(watts, min_size=windows, max_size=windows),
            st.lists(st.lists(work, min_size=windows, max_size=windows), min_size=1, max_size=4),
        )
    )
)
@settings(max_examples=60)
def test_shares_add_up_to_the_dynamic_power_of_the_node_at_every_instant(
    given: tuple[list[float], list[list[float]]],
) -> None:
    package, loads = given
    dynamic, _ = isolate(node_rows(package, package[::-1]), "min")
    rows = attribute(container_rows(dynamic, loads), dynamic, catalog().group("BPFOnly"), FEATURES)
    for column, feature in ((PACKAGE, "bpf_cpu_time_ms"), (DRAM, "bpf_page_cache_hit")):
        assert (rows[column] >= 0).all()
        shares = rows.groupby("time")[column].sum().to_numpy()
        worked = rows.groupby("time")[feature].sum().to_numpy() > 0
        np.testing.assert_allclose(shares[worked], dynamic[column].to_numpy()[worked], rtol=1e-9, atol=1e-9)
        assert (shares[~worked] == 0).all()  # nobody worked, so nobody caused it


def test_each_component_is_shared_by_its_own_main_feature() -> None:
    node = node_rows([100.0], [10.0])
    containers = pd.DataFrame(
        {
            "time": [node["time"][0]] * 2,
            "node": "a",
            "container": ["x", "y"],
            "bpf_cpu_time_ms": [300.0, 100.0],
            "bpf_page_cache_hit": [0.0, 8.0],
        }
    )
    rows = attribute(containers, node, catalog().group("BPFOnly"), FEATURES)
    assert rows[PACKAGE].tolist() == [75, 25]
    assert rows[DRAM].tolist() == [0, 10]


def test_containers_of_two_nodes_share_the_power_of_their_own() -> None:
    node = pd.concat([node_rows([10.0], [1.0], "a"), node_rows([70.0], [2.0], "b")])
    containers = pd.concat([container_rows(node[node["node"] == name], [[5.0]]) for name in ("a", "b")])
    rows = attribute(containers, node, catalog().group("BPFOnly"), FEATURES)
    assert dict(zip(rows["node"], rows[PACKAGE], strict=True)) == {"a": 10, "b": 70}
