"""Containers are called alike in both dialects, wherever Kepler says their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from handmade import T0, at, written
from node_frames import node_frames

from kepler_train.catalog import catalog
from kepler_train.extract.container_names import ContainerNames
from kepler_train.query.prometheus import Prometheus
from kepler_train.query.samples import write_samples
from kepler_train.samples.kepler_query_json import export_json, import_json
from kepler_train.samples.metrics import required_metrics
from kepler_train.samples.parquet import metrics_in, read_series
from kepler_train.samples.schedule import Schedule
from kepler_train.simulate.history import exported
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import store_of
from kepler_train.spec import RunSpec

GRID = T0 + 5.0 * np.arange(20)
SPEC = RunSpec(feature_groups=["CPUTime"])
SYSTEM = "system_processes/system_processes/system_processes/system"


def labelled(folder: Path, **metrics: list[dict[str, str]]) -> ContainerNames:
    """Names from a folder of samples with these labels."""
    made = {f"kepler_{metric}": [at(GRID, GRID - T0, **labels) for labels in many] for metric, many in metrics.items()}
    return ContainerNames(written(folder, made), catalog().dialect("current"), SPEC)


def test_a_process_is_called_by_the_pod_and_the_name_of_its_container(tmp_path: Path) -> None:
    names = labelled(
        tmp_path,
        container_cpu_watts=[{"container_id": "7f", "container_name": "web", "runtime": "crio", "pod_id": "p1"}],
        pod_cpu_watts=[{"pod_id": "p1", "pod_name": "web-5d", "pod_namespace": "shop"}],
    )
    assert names.container_of({"pid": "1", "container_id": "7f"}) == "7f/web-5d/web/shop"
    assert names.container_of({"container_id": "7f", "container_name": "web", "pod_id": "p1"}) == "7f/web-5d/web/shop"
    assert names.container_of({"pid": "1", "type": "regular"}) == SYSTEM


def test_a_container_in_no_pod_goes_by_its_own_name(tmp_path: Path) -> None:
    names = labelled(tmp_path, container_cpu_joules_total=[{"container_id": "7f", "container_name": "web"}])
    assert names.container_of({"container_id": "7f"}) == "7f/web/web/"
    assert names.container_of({"container_id": "88"}) == "88///"  # nobody says how it is called


def test_older_kepler_says_all_of_it_in_every_series(tmp_path: Path) -> None:
    names = ContainerNames(tmp_path, catalog().dialect("legacy"), SPEC)
    labels = {"container_id": "7f", "pod_name": "web-5d", "container_name": "web", "container_namespace": "shop"}
    assert names.container_of(labels) == "7f/web-5d/web/shop"


@pytest.fixture(scope="module")
def runs() -> list[NodeRun]:
    return run_nodes(Scenario(start=T0, duration=1800, nodes=1, seed=3, containers=3, phase=300, idle=300))


@pytest.fixture(scope="module")
def queried(runs: list[NodeRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a query of a simulated Kepler of today leaves."""
    folder = tmp_path_factory.mktemp("queried")
    store = store_of(exported(runs, "current", ["rapl-sysfs"], frozenset(), seed=5))
    with prometheus_server(store) as running:
        write_samples(Prometheus(running.url), required_metrics(SPEC, "current"), [], T0, T0 + 1800, folder)
    return folder


def test_a_query_keeps_the_labels_that_name_containers_without_their_samples(queried: Path) -> None:
    assert {"kepler_container_cpu_joules_total", "kepler_pod_cpu_joules_total"} < set(metrics_in(queried))
    assert "kepler_container_cpu_watts" not in metrics_in(queried)
    named = read_series(queried, "kepler_container_cpu_joules_total")
    assert sum(len(one.times) for one in named) == 0
    assert all({"container_id", "container_name", "pod_id"} <= set(one.labels) for one in named)
    assert len({one.labels["container_id"] for one in named}) == len(named)  # once, not by zone and state


@pytest.mark.parametrize("exchanged", [False, True])
def test_rows_of_containers_have_the_names_of_their_pods(
    exchanged: bool, queried: Path, runs: list[NodeRun], tmp_path: Path
) -> None:
    samples = queried
    if exchanged:
        samples = tmp_path / "read"
        samples.mkdir()
        export_json(queried, tmp_path / "query.json")
        import_json(tmp_path / "query.json", samples)
    rows = node_frames(samples, SPEC, "current", Schedule())["node-0"].containers
    truth = {
        f"{c.container_id}/{c.pod}/{c.name}/{c.namespace}" if c.container_id != "system_processes" else SYSTEM
        for c in (done.container for done in runs[0].containers)
    }
    assert set(rows["container"].astype(str)) <= truth
    assert rows["container"].nunique() >= len(truth) - 1  # one may have lived between two scrapes
