"""What `kepler-train query` reads to know its window, and the files that it leaves beside the samples."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from known_samples import END, START, collected, held
from scripted import attempts_at_once

from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import SampleStore, StoredSeries

ENERGY = [f"kepler_node_{part}_joules_total" for part in ("package", "core", "uncore", "dram")]
WANTED = [*ENERGY, "kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total"]
Run = Callable[..., tuple[int, list[str], list[str]]]  # exit code, lines on stdout, lines on stderr

# Two loads with a break between them, as an older release wrote it.
MANIFEST: dict[str, Any] = {
    "machine_id": "m5",
    "phases": [
        {"load": "cpu", "start": "2026-11-14T00:20:00Z", "end": "2026-11-14T00:25:00Z"},
        {"load": "cache", "start": "2026-11-14T00:10:00Z", "end": "2026-11-14T00:15:00Z", "instances": 2},
    ],
}
MACHINE = {"processor": "intel_xeon_platinum_8259cl", "cores": 96, "chips": 2, "memory": 377, "frequency": 3500}


@pytest.fixture(scope="module")
def server(store: SampleStore) -> Iterator[str]:
    with prometheus_server(store) as running:
        yield running.url


@pytest.fixture
def query(kepler_train: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`kepler-train query` of one meter and one feature group, below a folder of its own."""
    monkeypatch.setenv("DATAPATH", str(tmp_path))
    return partial(kepler_train, "query", "--energy-source", "rapl-sysfs", "--feature-group", "BPFOnly", "--server")


def test_the_window_of_a_stress_run_is_from_its_first_phase_to_its_last(
    server: str, store: SampleStore, query: Run, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text(json.dumps(MANIFEST))
    assert query(server, "--input", "run")[0] == 0
    assert collected(tmp_path / "kepler_query") == held(store, WANTED, START + 600, START + 1500)


def test_the_window_of_a_benchmark_comes_back(server: str, store: SampleStore, query: Run, tmp_path: Path) -> None:
    asked = ["--start-time", "2026-11-14T00:30:00Z", "--end-time", "2026-11-14T00:40:00+00:00"]
    assert query(server, *asked, "--benchmark", "lab", "-o", "first")[0] == 0
    assert json.loads((tmp_path / "lab.json").read_text()) == {
        "startTimeUTC": "2026-11-14T00:30:00Z",
        "endTimeUTC": "2026-11-14T00:40:00Z",
    }
    assert query(server, "--input", "lab", "-o", "second")[0] == 0
    assert collected(tmp_path / "first") == held(store, WANTED, START + 1800, START + 2400)
    assert collected(tmp_path / "second") == collected(tmp_path / "first")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"phases": []}', "has no phases"),
        ('{"phases": [{"load": "cpu", "start": "soon", "end": "later"}]}', "is not a schedule"),
        ('{"startTimeUTC": "2026-11-14T00:00:00Z"}', "it needs startTimeUTC and endTimeUTC, or the phases"),
        ("[1]", "it needs startTimeUTC"),
        ('{"startTimeUTC": ', "cut short or not JSON"),
    ],
)
def test_a_file_that_names_no_window_is_one_sentence(
    content: str, words: str, server: str, query: Run, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text(content)
    code, _, errors = query(server, "--input", "run")
    assert (code, len(errors)) == (2, 1)
    assert words in errors[0]


def test_one_or_several_nodes_are_taken_and_all_by_default(server: str, query: Run, tmp_path: Path) -> None:
    hour = ["--start-time", "2026-11-14T00:00:00Z", "--interval", "3600"]
    for options, nodes in (
        ([], {"node-0", "node-1"}),
        (["--node", "node-1"], {"node-1"}),
        (["--nodes", "node-0,node-1"], {"node-0", "node-1"}),
        (["--node", "node-0", "--node", "node-1"], {"node-0", "node-1"}),
    ):
        assert query(server, *hour, *options)[0] == 0
        found = collected(tmp_path / "kepler_query")
        assert {dict(labels)["instance"] for by in found.values() for labels in by} == nodes


def test_an_interval_beside_both_times_is_refused(server: str, query: Run, tmp_path: Path) -> None:
    times = ["--start-time", "2026-11-14T00:00:00Z", "--end-time", "2026-11-14T00:30:00Z"]
    assert query(server, *times, "--interval", "3600") == (
        2,
        [],
        [
            "error: --start-time and --end-time name the window, and --interval 3600 says how long it is once more:"
            " leave one of the three out."
        ],
    )
    assert not (tmp_path / "kepler_query").exists()


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_csv_has_a_file_per_metric_and_a_row_per_sample(
    form: str, server: str, store: SampleStore, query: Run, tmp_path: Path
) -> None:
    hour = ["--start-time", "2026-11-14T00:00:00Z", "--interval", "3600"]
    for _ in range(2):  # a second query takes the place of the first
        assert query(server, *hour, "--to-csv", "--format", form)[0] == 0
    expected = held(store, WANTED, START, START + 3600)
    for metric, by_labels in expected.items():
        found: dict[frozenset[tuple[str, str]], tuple[list[int], list[float]]] = {}
        with (tmp_path / "kepler_query_csv" / f"{metric}.csv").open(newline="") as file:
            rows = csv.DictReader(file)
            assert (rows.fieldnames or [])[0] == "timestamp"
            assert (rows.fieldnames or [])[-1] == metric
            for row in rows:
                time, value = round(float(row.pop("timestamp")) * 1000), float(row.pop(metric))
                times, values = found.setdefault(frozenset((k, v) for k, v in row.items() if v), ([], []))
                times.append(time)
                values.append(value)
        assert found == by_labels


def test_csv_of_a_query_that_fails_is_not_left_behind(query: Run, tmp_path: Path) -> None:
    hour = ["--start-time", "2026-11-14T00:00:00Z", "--interval", "3600"]
    with attempts_at_once(1):
        assert query("http://127.0.0.1:1", *hour, "--to-csv")[0] == 75
    assert list(tmp_path.iterdir()) == []


def test_the_machine_of_a_stress_run_is_the_one_that_was_stressed(server: str, query: Run, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(MANIFEST | {"machine": MACHINE}))
    code, lines, _ = query(server, "--input", "run", "--id", "m5", "--node", "node-0")
    assert code == 0
    assert lines[-1] == f"Wrote {tmp_path / 'm5.json'}."
    assert json.loads((tmp_path / "m5.json").read_text())["attrs"] == MACHINE


def node_exporter(node: str, cpus: int) -> list[StoredSeries]:
    """What a node_exporter tells of a machine, every 60 s."""
    times = np.arange(START, END, 60, dtype=np.int64) * 1000
    told = [("node_cpu_seconds_total", {"cpu": str(cpu), "mode": "idle"}, 1.0) for cpu in range(cpus)]
    told.append(("node_memory_MemTotal_bytes", {}, 64 * 2.0**30))
    return [
        StoredSeries({"__name__": name, "instance": node, "job": "node", **labels}, times, np.full(len(times), value))
        for name, labels, value in told
    ]


def test_without_a_stress_run_the_exporters_of_the_node_describe_it(
    store: SampleStore, query: Run, tmp_path: Path
) -> None:
    hour = ["--start-time", "2026-11-14T00:00:00Z", "--interval", "3600", "--id", "m5"]
    both = SampleStore([*store.series, *node_exporter("node-0", 4), *node_exporter("node-1", 8)])
    with prometheus_server(both) as server:
        code, lines, _ = query(server.url, *hour)
        assert code == 0
        assert any("node-0, node-1 are 2 kinds of machines: choose one with --node" in line for line in lines)
        assert not (tmp_path / "m5.json").exists()
        assert query(server.url, *hour, "--node", "node-1")[0] == 0
    found = json.loads((tmp_path / "m5.json").read_text())["attrs"]
    assert (found["cores"], found["memory"]) == (8, 64)


def test_a_machine_that_nobody_describes_is_said_and_not_made_up(server: str, query: Run, tmp_path: Path) -> None:
    hour = ["--start-time", "2026-11-14T00:00:00Z", "--interval", "3600"]
    code, lines, _ = query(server, *hour, "--id", "m5", "--node", "node-0")
    assert code == 0
    assert any("No exporter tells what kind of machine node-0 is" in line for line in lines)
    assert not (tmp_path / "m5.json").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--benchmark", "same", "--id", "same"], "--benchmark and --id name the same file"),
        (["--benchmark", "run"], "--input and --benchmark name the same file"),
        (["--benchmark", "out", "-o", "out", "--format", "json"], "--benchmark and --output name the same file"),
        (["--benchmark", "notes"], "is no benchmark and is left as it is"),
        (["--step", "-1"], "a step is between"),
        (["--step", "nan"], "a step is between"),
    ],
)
def test_no_file_is_written_over_another(
    options: list[str], words: str, server: str, query: Run, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text(json.dumps(MANIFEST))
    (tmp_path / "notes.json").write_text('{"mine": 1}')
    code, _, errors = query(server, "--input", "run", *options)
    assert (code, len(errors)) == (2, 1)
    assert words in errors[0]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["notes.json", "run.json"]


def test_a_step_asks_the_server_to_resample(server: str, query: Run, tmp_path: Path) -> None:
    hour = ["--start-time", "2026-11-14T00:00:00Z", "--interval", "3600"]
    code, lines, _ = query(server, *hour, "--step", "30", "--node", "node-0")
    assert code == 0
    assert " 1.0 h every 30 s, from " in lines[0]
    times = {time for by in collected(tmp_path / "kepler_query").values() for own, _ in by.values() for time in own}
    assert times == set(range(START * 1000, (START + 3600) * 1000 + 1, 30_000))
