"""Machines as a real Prometheus knows them, from Kepler of both dialects and from node_exporter."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kepler_train.cli import main
from kepler_train.errors import DataError
from kepler_train.local.prometheus import PrometheusServer
from kepler_train.machine.spec import MachineSpec
from kepler_train.query.machines import machines_at
from kepler_train.query.prometheus import Prometheus

CURRENT = 1_794_614_400.0  # 2026-11-14T00:00:00Z
LEGACY, EXPORTER, REAL, NO_METER = (CURRENT + 3600 * hours for hours in (1, 2, 3, 4))
MODEL = "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz"
OF_A_MACHINE = ("kepler_build_info", "kepler_node_cpu_info", "kepler_node_cpu_joules_total", "node_cpu_seconds_total")
Samples = list[tuple[str, dict[str, str], float, float]]  # metric, labels, value, time


def node_exporter(instance: str, name: str, cpus: int, memory: float, at: float, **more: str) -> Samples:
    target = {"job": "node", "instance": instance, **more}
    uname = {"nodename": name, "release": "5.14.0", "machine": "x86_64", **target}
    modes = [(cpu, mode) for cpu in range(cpus) for mode in ("idle", "user")]
    return [
        ("node_uname_info", uname, 1, at),
        ("node_memory_MemTotal_bytes", target, memory, at),
        *(("node_cpu_seconds_total", {"cpu": str(cpu), "mode": mode, **target}, 1, at) for cpu, mode in modes),
    ]


def two_sockets(instance: str, node: str) -> Samples:
    """Kepler 0.11.4 on 2 sockets of 2 cores of 2 threads: its CPU info has no node_name."""
    target = {"job": "kepler", "instance": instance}
    info = {"model_name": MODEL, "vendor_id": "GenuineIntel", **target}
    places = [(cpu, cpu % 2, cpu // 2 % 2) for cpu in range(8)]
    return [
        ("kepler_node_cpu_joules_total", {"zone": "package", "node_name": node, **target}, 5, CURRENT),
        ("kepler_build_info", {"version": "v0.11.4", **target}, 1, CURRENT),
        *(
            ("kepler_node_cpu_info", info | {"processor": str(p), "physical_id": str(s), "core_id": str(c)}, 1, CURRENT)
            for p, s, c in places
        ),
    ]


def current() -> Samples:
    """Two nodes of Kepler, one with node_exporter on the same host, one with one that names its node."""
    hertz, dmi = "node_cpu_frequency_max_hertz", {"product_name": "m5.metal", "system_vendor": "Amazon EC2"}
    return [
        *two_sockets("10.0.0.1:28282", "worker-1"),
        *two_sockets("10.0.0.2:28282", "worker-2"),
        *node_exporter("10.0.0.1:9100", "a", 8, 64 * 2**30 - 5e8, CURRENT),
        (hertz, {"cpu": "0", "instance": "10.0.0.1:9100"}, 3.9e9, CURRENT),
        (hertz, {"cpu": "1", "instance": "10.0.0.1:9100"}, 3.7e9, CURRENT),
        ("node_cpu_scaling_frequency_max_hertz", {"cpu": "0", "instance": "10.0.0.1:9100"}, 1e9, CURRENT),
        ("node_dmi_info", dmi | {"instance": "10.0.0.1:9100"}, 1, CURRENT),
        *node_exporter("exporter-7:9100", "b", 8, 32 * 2**30, CURRENT, node="worker-2"),
        *node_exporter("10.0.0.9:9100", "database", 64, 512 * 2**30, CURRENT),  # no node of Kepler's
    ]


def legacy() -> Samples:
    target = {"job": "kepler", "instance": "old-1"}
    hertz = [
        ("kepler_node_cpu_scaling_frequency_hertz", {"cpu": str(cpu), **target}, 2.4e9, LEGACY) for cpu in range(4)
    ]
    energy = {"mode": "idle", "package": "0", **target}
    version = {"version": "v0.7.11", "branch": "main", **target}
    return [
        ("kepler_node_package_joules_total", energy, 5, LEGACY),
        ("kepler_node_package_joules_total", energy | {"mode": "dynamic"}, 5, LEGACY),
        ("kepler_exporter_build_info", version, 1, LEGACY),
        *hertz,
    ]


def exporter_alone() -> Samples:
    info = {
        "package": "0",
        "model_name": "AMD EPYC 7R13 Processor",
        "vendor": "AuthenticAMD",
        "instance": "10.0.0.5:9100",
    }
    dmi = {"product_name": "Standard PC (Q35 + ICH9, 2009)", "system_vendor": "QEMU", "instance": "10.0.0.5:9100"}
    return [
        *node_exporter("10.0.0.5:9100", "guest", 4, 16 * 2**30, EXPORTER),
        *(("node_cpu_info", info | {"cpu": str(cpu), "core": str(cpu // 2)}, 1, EXPORTER) for cpu in range(4)),
        ("node_dmi_info", dmi, 1, EXPORTER),
    ]


def recorded(folder: Path) -> Samples:
    """The first scrape of an unmodified Kepler 0.11.4 and node_exporter, moved to another hour."""
    recording = json.loads(gzip.decompress((folder / "raw.json.gz").read_bytes()))
    return [
        (metric, series["metric"], float(series["values"][0][1]), REAL)
        for metric in (*OF_A_MACHINE, "node_memory_MemTotal_bytes")
        for series in recording[metric]
    ]


def openmetrics(samples: Samples) -> str:
    lines = []
    for metric, labels, value, time in sorted(samples, key=lambda sample: (sample[0], sorted(sample[1].items()))):
        pairs = ",".join(f'{name}="{text}"' for name, text in labels.items() if name != "__name__")
        lines.append(f"{metric}{{{pairs}}} {value!r} {time!r}")
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def server(kepler_recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    for program in ("prometheus", "promtool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian package prometheus)")
    home = tmp_path_factory.mktemp("prometheus")
    of_vm = two_sockets("vm:28282", "")
    unmetered = [(metric, labels, value, NO_METER) for metric, labels, value, _ in of_vm if "info" in metric]
    samples = [*unmetered, *current(), *legacy(), *exporter_alone(), *recorded(kepler_recording)]
    (home / "recording.om").write_text(openmetrics(samples))
    running = PrometheusServer(home / "data")
    running.fill(home / "recording.om")
    with running:
        yield Prometheus(running.url)


def test_a_node_is_described_by_kepler_and_the_node_exporter_of_its_host(server: Prometheus) -> None:
    machines = machines_at(server, CURRENT + 30)
    assert list(machines) == ["worker-1", "worker-2"]
    assert machines["worker-1"] == MachineSpec(
        processor="intel_xeon_gold_6230",
        cores=8,
        chips=2,
        memory=63,
        frequency=3900,
        vendor="genuineintel",
        threads_per_core=2,
        kernel="5.14.0",
        virtualization="none",
        kepler_version="0.11.4",
    )


def test_a_node_exporter_elsewhere_is_known_by_the_label_that_names_its_node(server: Prometheus) -> None:
    machine = machines_at(server, CURRENT)["worker-2"]
    assert (machine.memory, machine.frequency) == (32, 2100)  # without cpufreq, the clock of the model name
    assert machine.virtualization is None


def test_a_legacy_kepler_alone_tells_its_version_and_the_rest_is_unknown(server: Prometheus) -> None:
    assert machines_at(server, LEGACY) == {"old-1": MachineSpec(kepler_version="0.7.11")}


def test_without_kepler_the_machines_are_those_of_node_exporter(server: Prometheus) -> None:
    assert machines_at(server, EXPORTER) == {
        "guest": MachineSpec(
            processor="amd_epyc_7r13",
            cores=4,
            chips=1,
            memory=16,
            vendor="authenticamd",
            threads_per_core=2,
            kernel="5.14.0",
            virtualization="qemu",
        )
    }


def test_a_kepler_without_a_meter_still_describes_its_machine(server: Prometheus) -> None:
    machine = machines_at(server, NO_METER)["vm:28282"]
    assert (machine.processor, machine.cores, machine.kepler_version) == ("intel_xeon_gold_6230", 8, "0.11.4")


def test_an_unmodified_kepler_and_node_exporter_describe_their_machine(server: Prometheus) -> None:
    assert machines_at(server, REAL) == {
        "vm-1": MachineSpec(
            processor="intel_xeon",
            cores=2,
            chips=1,
            memory=23,
            frequency=2800,
            vendor="genuineintel",
            threads_per_core=1,
            kepler_version="0.11.4",
        )
    }


def test_other_prefixes_and_times_without_scrapes_know_no_machine(server: Prometheus) -> None:
    with pytest.raises(DataError, match=r"knows no machine at that time: neither Kepler nor node_exporter was scraped"):
        machines_at(server, CURRENT - 3600)
    assert "worker-1" not in machines_at(server, CURRENT, prefix="other_")


def test_the_command_asks_prometheus_for_all_nodes_or_one(
    server: Prometheus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def machine(*options: str) -> tuple[int, str, str]:
        arguments = ["--server", server.url, "--time", "2026-11-14T00:00:00Z", *options]
        monkeypatch.setattr("sys.argv", ["kepler-train", "machine", *arguments])
        try:
            main()
        except SystemExit as ended:
            return int(ended.code or 0), *capsys.readouterr()
        return 0, *capsys.readouterr()

    both = "worker-1: intel_xeon_gold_6230, 8 CPUs, 2 chips, 63 GiB, 3900 MHz, Linux 5.14.0, virtualization none, "
    assert machine()[1].startswith(both + "Kepler 0.11.4\nworker-2: ")
    code, _, error = machine("--id", "mine")
    assert (code, error) == (2, f"error: {server.url} has 2 nodes: choose one with --node: worker-1, worker-2.\n")
    assert machine("--node", "worker-3")[0] == 2
    assert machine("--node", "worker-2", "--id", "mine")[0] == 0
    assert json.loads((tmp_path / "mine.json").read_text())["attrs"]["memory"] == 32
    code, said, _ = machine("--time", "2026-11-14T01:00:00Z")
    assert (code, said.splitlines()[1]) == (
        0,
        "warning: Not known of old-1: processor, cores, chips, memory, frequency.",
    )
