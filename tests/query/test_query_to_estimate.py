"""A query of machines without a meter, to estimate their power: everything but energy comes out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from known_samples import END, START, collected, held

from kepler_train.errors import DataError
from kepler_train.query.samples import query_samples
from kepler_train.simulate.history import exported
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import SampleStore, store_of
from kepler_train.simulate.variant import Variant
from kepler_train.spec import RunSpec

MakeSpec = Callable[..., RunSpec]
BEGIN = END - 1800
BPF = ["kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total"]
FEATURES = {
    ("legacy", "BPFOnly"): BPF,
    ("current", "CPUTime"): ["kepler_process_cpu_seconds_total", "kepler_node_cpu_usage_ratio"],
}


def bare(runs: list[NodeRun], dialect: str) -> SampleStore:
    """What nodes without a meter export, each with a node_exporter beside Kepler."""
    shown = exported(runs, dialect, [], frozenset(), 3, Variant(node_exporter=True))
    return store_of([(scrapes, [f for f in families if not f.curves[0].energy]) for scrapes, families in shown])


@pytest.mark.parametrize(("dialect", "group"), FEATURES)
def test_features_come_out_in_the_dialect_that_they_are_of(
    dialect: str, group: str, two_nodes: list[NodeRun], spec: MakeSpec, tmp_path: Path
) -> None:
    store = bare(two_nodes, dialect)
    with prometheus_server(store) as server:
        asked = spec(server.url, BEGIN, END, feature_groups=group)
        with pytest.raises(DataError, match="has no energy counters of Kepler"):
            query_samples(asked, tmp_path / "metered")
        figures = query_samples(asked, tmp_path, metered=False)
    assert figures["dialect"] == dialect
    assert collected(tmp_path) == held(store, FEATURES[dialect, group], BEGIN, END)


def test_energy_of_another_source_is_not_that_of_the_requested_one(
    two_nodes: list[NodeRun], spec: MakeSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with prometheus_server(store_of(exported(two_nodes, "legacy", ["acpi"], frozenset(), 3))) as server:
        with pytest.raises(DataError) as refused:
            query_samples(spec(server.url, BEGIN, END, energy_sources="hmc"), tmp_path / "hmc")
        query_samples(spec(server.url, BEGIN, END, energy_sources="acpi,hmc"), tmp_path / "both")
    lacks = f"Prometheus at {server.url} has no energy of hmc in the window"
    assert str(refused.value) == f"{lacks}, only of acpi: choose another source, or check the exporter."
    assert f"warning: query: {lacks}." in capsys.readouterr().out.splitlines()


def test_nodes_with_a_meter_and_without_come_out_together_or_by_name(
    two_nodes: list[NodeRun], spec: MakeSpec, tmp_path: Path
) -> None:
    metered = store_of(exported(two_nodes[:1], "legacy", ["rapl-sysfs"], frozenset(), 3))
    store = SampleStore([*metered.series, *bare(two_nodes[1:], "legacy").series])
    energy = [f"kepler_node_{part}_joules_total" for part in ("package", "core", "uncore", "dram")]
    with prometheus_server(store) as server:
        query_samples(spec(server.url, BEGIN, END, energy_sources="rapl-sysfs"), tmp_path / "both", metered=False)
        query_samples(spec(server.url, BEGIN, END, nodes="node-1"), tmp_path / "one", metered=False)
    assert collected(tmp_path / "both") == held(store, [*energy, *BPF], BEGIN, END)
    of_one = held(SampleStore(one for one in store.series if one.labels["instance"] == "node-1"), BPF, BEGIN, END)
    assert collected(tmp_path / "one") == of_one


def test_a_machine_without_kepler_goes_by_the_target_of_its_exporter(
    two_nodes: list[NodeRun], spec: MakeSpec, tmp_path: Path
) -> None:
    store = SampleStore(
        one for one in bare(two_nodes, "legacy").series if not one.labels["__name__"].startswith("kepler")
    )
    place = sorted({one.labels["instance"] for one in store.series})[1]
    with prometheus_server(store) as server:
        of = {"feature_groups": "NodeExporter", "output_types": "AbsPower"}
        query_samples(spec(server.url, BEGIN, END, **of), tmp_path / "all", metered=False)
        query_samples(spec(server.url, BEGIN, END, nodes=place, **of), tmp_path / "one", metered=False)
    everything, one = collected(tmp_path / "all"), collected(tmp_path / "one")
    assert len(everything) == len(one) == 9
    for metric, series in everything.items():
        assert one[metric] == {labels: own for labels, own in series.items() if ("instance", place) in labels}


def test_what_is_not_there_is_one_sentence(
    two_nodes: list[NodeRun], spec: MakeSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with prometheus_server(bare(two_nodes, "legacy")) as server:
        with pytest.raises(DataError, match="has no features in the window: kepler_container_cpu_seconds_total, kepl"):
            query_samples(spec(server.url, BEGIN, END, feature_groups="CPUTime"), tmp_path, metered=False)
        with pytest.raises(DataError, match="has no features in the window: kepler_container_bpf_cpu_time_ms_total, "):
            query_samples(spec(server.url, START - 7200, START - 3600), tmp_path, metered=False)
        query_samples(spec(server.url, BEGIN, END, nodes="node-1,vm-7"), tmp_path, metered=False)
    assert "warning: query: Prometheus has no features of vm-7 in the window." in capsys.readouterr().out.splitlines()
