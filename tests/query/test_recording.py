"""A recording of an unmodified Kepler 0.11.4 and a node_exporter, from a real Prometheus to a trained model.

Its meter followed the busy share u of two CPUs by a known law: package 20 + 60·u^0.8 W, core 8 + 45·u^0.9 W, dram
3 + 6·u W. Kepler saw the processes of the loads; processes of the same container have the same container_id.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from known_samples import Samples, collected
from temporary import train_models

from kepler_train.extract.frame_files import CONTAINERS_FILE
from kepler_train.local.prometheus import PrometheusServer
from kepler_train.query.samples import query_samples
from kepler_train.runs.tables import extracted as extracted_run
from kepler_train.runs.tables import node_rows
from kepler_train.samples.schedule import Phase, Schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.judging import judge_samples
from kepler_train.workspace import Figures, files_of

pytestmark = pytest.mark.integration

START, END = 1_794_810_495, 1_794_811_875  # s; all of the recording
# They are in no pods; their names are in the labels of another metric than their CPU time.
CRON, BATCH = "b" * 64 + "/cron/cron/", "c" * 64 + "/batch/batch/"
LOAD = [f"node_cpu_{mode}_seconds" for mode in ("user", "nice", "system", "irq", "softirq", "steal")]
ASKED = {
    "kepler_node_cpu_joules_total",
    "kepler_node_cpu_usage_ratio",
    "kepler_process_cpu_seconds_total",
    "node_context_switches_total",
    "node_cpu_seconds_total",
    "node_disk_read_bytes_total",
    "node_disk_written_bytes_total",
    "node_memory_Active_bytes",
    "node_memory_MemAvailable_bytes",
    "node_network_receive_bytes_total",
    "node_network_transmit_bytes_total",
    "node_vmstat_pgfault",
}


@dataclass(frozen=True)
class Collected:
    """What a query made of the recording."""

    samples: Path
    spec: RunSpec
    figures: Figures


@dataclass(frozen=True)
class Extracted:
    """Rows of the node and of its containers."""

    node: pd.DataFrame
    containers: pd.DataFrame

    def of(self, container: str, load: str) -> float:
        """CPU seconds per second of a container, over the windows of one load."""
        windows = self.node.loc[self.node["workload"] == load, "time"]
        own = self.containers[(self.containers["container"] == container) & self.containers["time"].isin(windows)]
        return float(own["cpu_seconds"].sum() / len(windows))


def openmetrics(recording: dict[str, list[dict[str, Any]]]) -> str:
    """A recording as text that promtool reads."""
    lines = []
    for metric, series in sorted(recording.items()):
        for one in series:
            labels = {name: json.dumps(text) for name, text in sorted(one["metric"].items()) if name != "__name__"}
            head = f"{metric}{{{','.join(f'{name}={text}' for name, text in labels.items())}}}"
            lines += [f"{head} {value} {time:.3f}" for time, value in one["values"]]
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def server(kepler_recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Debian's Prometheus that holds the recording."""
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    folder = tmp_path_factory.mktemp("recorded")
    text = folder / "recording.om"
    text.write_text(openmetrics(json.loads(gzip.decompress((kepler_recording / "raw.json.gz").read_bytes()))))
    prometheus = PrometheusServer(folder / "data")
    prometheus.fill(text)
    with prometheus:
        yield prometheus.url


@pytest.fixture(scope="module")
def collection(server: str, tmp_path_factory: pytest.TempPathFactory) -> Collected:
    """Nothing says which Kepler it was: the query finds out."""
    asked = {"prometheus": server, "start": START, "end": END, "feature_groups": "CPUTime,NodeExporter"}
    trained = {"pipeline": "recording", "output_types": "AbsPower", "abs_trainers": "LinearRegressionTrainer"}
    spec = RunSpec.model_validate(asked | trained)
    folder = tmp_path_factory.mktemp("samples")
    return Collected(folder, spec, query_samples(spec, folder))


@pytest.fixture(scope="module")
def schedule(kepler_recording: Path) -> Schedule:
    """The loads by the words of their command lines, all of a phase joined by +."""
    lines = (kepler_recording / "schedule.txt").read_text().splitlines()
    phases = []
    for begun, ended in zip(lines[::2], lines[1::2], strict=True):
        start, _, loads = begun.partition(" start ")
        names = [name.strip() for name in loads.split("|")[1:] if name.strip()]
        phases.append(Phase(load=" + ".join(names) or "idle", start=float(start), end=float(ended.split()[0])))
    return Schedule(phases=phases)


@pytest.fixture(scope="module")
def extracted(collection: Collected, schedule: Schedule, tmp_path_factory: pytest.TempPathFactory) -> Extracted:
    run = extracted_run(tmp_path_factory.mktemp("extracted"), collection.spec, collection.samples, schedule)
    return Extracted(node_rows(run), pd.read_parquet(*files_of(run.folder("extract"), CONTAINERS_FILE)))


@pytest.fixture(scope="module")
def truth(kepler_recording: Path) -> pd.DataFrame:
    return pd.read_csv(kepler_recording / "truth.csv.gz")


def true_watts(rows: pd.DataFrame, truth: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    """Mean power of the meter in the window of each row, from its energy (J)."""
    ends = rows["time"].dt.as_unit("ms").astype("int64").to_numpy() / 1000
    return (np.interp(ends, truth["time"], truth[column]) - np.interp(ends - 5, truth["time"], truth[column])) / 5


def as_recorded(kepler_recording: Path) -> Samples:
    """The samples of the recording, with a decoder of its own."""
    found: Samples = {}
    for metric, many in json.loads(gzip.decompress((kepler_recording / "raw.json.gz").read_bytes())).items():
        for one in many:
            labels = frozenset((name, value) for name, value in one["metric"].items() if name != "__name__")
            times, values = zip(*one["values"], strict=True)
            found.setdefault(metric, {})[labels] = [round(t * 1000) for t in times], [float(v) for v in values]
    return found


def test_every_sample_comes_out_as_it_was_scraped_and_nothing_that_kepler_computed(
    kepler_recording: Path, collection: Collected
) -> None:
    expected = {metric: by for metric, by in as_recorded(kepler_recording).items() if metric in ASKED}
    assert collected(collection.samples) == expected
    figures = {name: collection.figures[name] for name in ("dialect", "metrics", "series", "samples")}
    assert figures == {"dialect": "current", "metrics": 12, "series": 275, "samples": 12_518}


def test_the_verdict_finds_the_one_scrape_that_is_missing(collection: Collected, schedule: Schedule) -> None:
    found = judge_samples(collection.samples, collection.spec, schedule)
    health = found.health["vm-1"]
    assert (found.dialect, found.nodes) == ("current", ["vm-1"])
    valid = {group: state.valid for group, state in found.groups.items()}
    assert valid == {"CPUTime": True, "NodeExporter": True}
    assert (health.scrapes, health.scrape_interval) == (274, pytest.approx(5, abs=0.01))
    assert (health.gaps.count, health.gaps.longest) == (1, pytest.approx(10, abs=0.01))
    assert (health.resets, health.clock_steps) == ([], [])
    assert [phase.enough for phase in health.phases] == [True] * 24


@pytest.mark.parametrize(
    ("zone", "column"), [("package", "package-0_joules"), ("core", "core_joules"), ("dram", "dram_joules")]
)
def test_power_is_that_of_the_meter_in_all_and_in_every_phase(
    zone: str, column: str, extracted: Extracted, truth: pd.DataFrame
) -> None:
    rows = extracted.node.assign(truth=true_watts(extracted.node, truth, column))
    power = f"rapl-sysfs/{zone}_power"
    assert rows[power].mean() == pytest.approx(rows["truth"].mean(), rel=0.001)
    by_load = rows[rows["workload"] != ""].groupby("workload")[[power, "truth"]].mean()
    assert len(by_load) == 22
    # Kepler reads the meter up to 5 s before it is scraped, in phases of 45 s.
    assert (by_load[power] / by_load["truth"] - 1).abs().max() < 0.05


def test_zones_are_columns_of_their_own_and_package_is_what_the_law_says(extracted: Extracted) -> None:
    power = [name for name in extracted.node.columns if name.endswith("_power")]
    assert power == ["rapl-sysfs/package_power", "rapl-sysfs/core_power", "rapl-sysfs/dram_power"]
    by_load = extracted.node.groupby("workload")["rapl-sysfs/package_power"].mean()
    assert by_load["batch --cpu 2"] == pytest.approx(80, abs=1)  # with core and dram added it were 142 W
    assert by_load["batch --cpu 1 --cpu-load 20"] == pytest.approx(20 + 60 * 0.16**0.8, abs=3)  # and cron's 0.06
    assert by_load.between(20, 81).all()


@pytest.mark.parametrize(
    ("load", "seconds"),
    [
        ("batch --cpu 1 --cpu-load 20", 0.2),
        ("batch --cpu 1 --cpu-load 60", 0.6),
        ("batch --cpu 2 --cpu-load 30", 0.6),
        ("batch --cpu 2 --cpu-load 80", 1.6),
        ("batch --cpu 2", 2.0),
        ("batch --regs 2", 2.0),
        ("db --vm 2 --vm-bytes 256M + batch --cpu 1 --cpu-load 30", 0.3),
    ],
)
def test_processes_of_a_container_add_up_to_the_load_that_ran_in_it(
    load: str, seconds: float, extracted: Extracted
) -> None:
    # Beside it ran cron and, in the last phase, two that wanted both CPUs: the kernel gave it less, never more.
    assert 0.75 * seconds < extracted.of(BATCH, load) < 1.01 * seconds
    if "+" not in load:
        assert extracted.of(BATCH, load) == pytest.approx(seconds, rel=0.08)


def test_of_a_burst_the_time_after_its_last_scrape_is_not_seen(extracted: Extracted) -> None:
    """Cron's processes live 6 s of every 46 s. Kepler looks every 5 s, so on average it misses their last 2.5 s."""
    of_cron = extracted.containers[extracted.containers["container"] == CRON]
    assert of_cron["cpu_seconds"].sum() / len(extracted.node) == pytest.approx(3.5 / 46, rel=0.2)
    assert of_cron["cpu_seconds"].max() < 1.01  # one CPU


def test_the_busy_share_is_divided_among_containers_without_rest(extracted: Extracted) -> None:
    of_node = extracted.node.set_index("time")
    at_work = of_node[of_node["cpu_seconds"] > 0]
    assert len(at_work) == 248
    added = extracted.containers.groupby("time")[["cpu_usage_ratio", "cpu_seconds"]].sum()
    np.testing.assert_allclose(added["cpu_usage_ratio"], at_work["cpu_usage_ratio"], rtol=1e-9)
    np.testing.assert_allclose(added["cpu_seconds"], at_work["cpu_seconds"], rtol=1e-9)


def test_node_exporter_and_kepler_saw_the_same_machine(extracted: Extracted, truth: pd.DataFrame) -> None:
    busy = extracted.node[LOAD].sum(axis=1) / 2  # of two CPUs
    assert busy.mean() == pytest.approx(extracted.node["cpu_usage_ratio"].mean(), abs=0.005)
    integral = truth.assign(u=np.concatenate([[0.0], np.cumsum(np.diff(truth["time"]) * truth["u"].to_numpy()[1:])]))
    np.testing.assert_allclose(busy, true_watts(extracted.node, integral, "u"), atol=0.1)
    assert np.abs(busy - true_watts(extracted.node, integral, "u")).mean() < 0.01


def test_a_linear_model_of_cpu_time_predicts_phases_that_it_has_not_seen(
    collection: Collected, schedule: Schedule, extracted: Extracted, tmp_path: Path
) -> None:
    work, out = tmp_path / "work", tmp_path / "models"
    work.mkdir()
    out.mkdir()
    spec = collection.spec.model_copy(update={"feature_groups": ["CPUTime"]})
    figures = train_models(collection.samples, spec, schedule, "recorded", work, out)
    assert (figures["models"], figures["refused"]) == (1, 0)
    model = out / "recording/rapl-sysfs/AbsPower/CPUTime/LinearRegressionTrainer_0"
    judged = json.loads((model / "metadata.json").read_text())["figures"]
    labelled = extracted.node.loc[extracted.node["workload"] != "", "rapl-sysfs/package_power"]
    assert (labelled - labelled.mean()).abs().mean() > 15  # W: what a model without features would get
    assert judged["blocked"]["package"]["rows"] == len(labelled) == 201
    for protocol in ("blocked", "leave-one-workload-out"):
        assert judged[protocol]["package"]["mae"] < 4
        assert judged[protocol]["core"]["mae"] < 3
        assert judged[protocol]["dram"]["mae"] < 0.4
