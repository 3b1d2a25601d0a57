"""The everyday commands, from Prometheus to a model database, on files of one's own."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kepler_train.models import load_model
from kepler_train.simulate.history import exported, write_schedule
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import store_of

START = 1_794_614_400.0  # 2026-11-14T00:00:00Z
WINDOW = ["--start-time", "2026-11-14T00:00:00Z", "--end-time", "2026-11-14T02:00:00Z"]
LINEAR = ["--abs-trainers", "LinearRegressionTrainer", "--dyn-trainers", "LinearRegressionTrainer"]
TYPE = ["--node-type", "0"]
Ended = tuple[int, list[str], list[str]]  # exit code, lines on stdout, lines on stderr
KeplerTrain = Callable[..., Ended]


@pytest.fixture(scope="module")
def nodes() -> list[NodeRun]:
    return run_nodes(Scenario(start=START, duration=2 * 3600, nodes=2, seed=6, containers=5, phase=300, idle=120))


@pytest.fixture(scope="module")
def server(nodes: list[NodeRun]) -> Iterator[str]:
    with prometheus_server(store_of(exported(nodes, "legacy", ["rapl-sysfs", "acpi"], frozenset(), seed=6))) as running:
        yield running.url


@pytest.fixture(scope="module")
def queried(server: str, nodes: list[NodeRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder after `kepler-train query` of one node, in both formats, with the schedule."""
    folder = tmp_path_factory.mktemp("queried")
    base = [sys.executable, "-c", "from kepler_train.cli import main; main()", "query", "--server", server]
    for more in ([*WINDOW, "--benchmark", "stress"], ["--input", "stress", "--format", "json", "-o", "as_json"]):
        subprocess.run([*base, "--nodes", "node-0", "--id", "m5", *more], check=True, cwd=folder)
    write_schedule(folder / "schedule.json", nodes[:1], "m5")
    return folder


@pytest.fixture
def data(queried: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """DATAPATH names the folder of the query."""
    monkeypatch.setenv("DATAPATH", str(queried))
    return queried


def test_a_query_leaves_samples_and_the_window_of_the_benchmark(queried: Path) -> None:
    assert sorted(entry.name for entry in queried.iterdir()) == [
        "as_json.json",
        "kepler_query",
        "schedule.json",
        "stress.json",
    ]
    assert json.loads((queried / "stress.json").read_text()) == {
        "startTimeUTC": "2026-11-14T00:00:00Z",
        "endTimeUTC": "2026-11-14T02:00:00Z",
    }
    content = json.loads((queried / "as_json.json").read_text())
    package = content["kepler_node_package_joules_total"]
    assert {one["metric"]["instance"] for one in package} == {"node-0"}
    assert package[0]["metric"]["__name__"] == "kepler_node_package_joules_total"
    assert all(isinstance(value, str) for _, value in package[0]["values"])
    assert len(package[0]["values"]) == 481


def test_the_folder_and_the_json_are_the_same_query(kepler_train: KeplerTrain, data: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress((data / "as_json.json").read_bytes()))
    for name in ("kepler_query", "as_json", "as_json.json", str(data / "as_json.json"), str(packed)):
        code, _, errors = kepler_train("extract", "-i", name, "-fg", "Basic", "-o", str(tmp_path / "a"))
        assert (code, errors) == (0, [])
        table = pd.read_parquet(tmp_path / "a.parquet")
        if name == "kepler_query":
            first = table
        pd.testing.assert_frame_equal(table, first)


def test_validate_says_which_groups_are_complete(kepler_train: KeplerTrain, data: Path) -> None:
    code, lines, _ = kepler_train("validate", "-o", "verdict")
    assert code == 0
    assert any(line.startswith("  valid ") and "BPFOnly" in line for line in lines)
    assert any("KubeletOnly: kepler_container_kubelet_cpu_usage_total" in line for line in lines)
    verdict = json.loads((data / "verdict.json").read_text())
    (data / "verdict.json").unlink()
    assert verdict["groups"]["BPFOnly"]["valid"]
    code, _, errors = kepler_train("validate", "-fg", "KubeletOnly")
    assert code == 3
    assert errors[0].startswith("error: No data for feature group KubeletOnly on node node-0: kepler_container_kubelet")


def test_extract_writes_rates_and_watts(
    kepler_train: KeplerTrain, data: Path, nodes: list[NodeRun], tmp_path: Path
) -> None:
    assert kepler_train("extract", "-e", "acpi", "-o", str(tmp_path / "a.csv"))[0] == 0
    table = pd.read_csv(tmp_path / "a.csv")
    assert list(table) == ["timestamp", "node", "bpf_cpu_time_ms", "bpf_page_cache_hit", "platform_power"]
    assert table["timestamp"].tolist() == [int(START) + 15 * tick for tick in range(1, 481)]
    np.testing.assert_allclose(table["platform_power"], nodes[0].metered_watts("platform"), rtol=0.01)
    options = ["-ot", "DynPower", "--schedule", "schedule.json"]
    assert kepler_train("extract", *options, "-o", str(tmp_path / "b"))[0] == 0
    rows = pd.read_parquet(tmp_path / "b.parquet")
    assert list(rows)[:4] == ["timestamp", "node", "id", "workload"]
    summed = rows.groupby("timestamp")["bpf_cpu_time_ms"].sum()
    np.testing.assert_allclose(summed, table["bpf_cpu_time_ms"])


def test_isolate_shares_dynamic_power_among_containers(kepler_train: KeplerTrain, data: Path, tmp_path: Path) -> None:
    assert kepler_train("extract", "-e", "acpi", "-o", str(tmp_path / "a"))[0] == 0
    code, lines, _ = kepler_train(
        "isolate", "-e", "acpi", "--isolator", "min", "--target-hints", "stress", "-o", str(tmp_path / "b")
    )
    assert code == 0
    assert lines[0] == "warning: The isolator min takes no hints: --target-hints and --bg-hints change nothing."
    node, rows = pd.read_parquet(tmp_path / "a.parquet"), pd.read_parquet(tmp_path / "b.parquet")
    shared = rows.groupby("timestamp")["platform_power"].sum()
    np.testing.assert_allclose(shared, node["platform_power"] - node["platform_power"].min(), atol=1e-6)


def test_train_and_export_leave_a_pipeline_that_others_read(
    kepler_train: KeplerTrain, data: Path, tmp_path: Path
) -> None:
    options = ["-i", "as_json", "-fg", "BPFOnly,Basic", "-e", "acpi", *LINEAR, "--schedule", "schedule.json"]
    code, lines, errors = kepler_train("train", "-p", "mine", "--id", "m5", *options)
    assert (code, errors) == (0, [])
    home = tmp_path / "models/mine"
    passing = sum("passes the gate" in line for line in lines)
    refused = sum("does not pass the gate" in line for line in lines)
    assert passing + refused == 4
    assert lines[-1].startswith(f"Wrote models/mine: 4 models, {passing} pass the gate;")
    assert len(list(home.glob("acpi/*/*/*.zip"))) == 4
    assert "m5" in (home / "README.md").read_text()
    trained = json.loads((home / "metadata.json").read_text())
    assert trained["collect_time"] == "2026-11-14T02:00:00Z"

    code, lines, _ = kepler_train(
        "export", "-p", "mine", "-o", "db/models", "--publisher", "me", "--benchmark", "stress"
    )
    assert (code, len(lines), lines[-1]) == (0, refused + 1, f"Wrote db/models/v0.7/mine: {passing} models.")
    metadata = json.loads((tmp_path / "db/models/v0.7/mine/metadata.json").read_text())
    assert (metadata["publisher"], metadata["collect_time"]) == ("me", "2026-11-14T00:00:00Z")
    assert (metadata["init_time"], metadata["last_update_time"]) == (trained["init_time"], trained["last_update_time"])
    left_out = [line.removeprefix("warning: ").split()[0] for line in lines[:-1]]  # with their files and archives
    files = {path.relative_to(home) for path in home.rglob("*")}
    files = {path for path in files if not any(str(path).startswith(model) for model in left_out)}
    assert files == {
        path.relative_to(tmp_path / "db/models/v0.7/mine") for path in (tmp_path / "db/models/v0.7/mine").rglob("*")
    }
    assert (tmp_path / "db/models/v0.7/README.md").read_text().count(f"| [{passing} models](mine/README.md) |") == 1
    assert "# Pipeline mine" in (tmp_path / "db/models/v0.7/.doc/mine.md").read_text()
    assert kepler_train("export", "-p", "mine", "-o", "db/models", "--zip=false")[0] == 0  # again, in its place
    assert not list((tmp_path / "db").rglob("*.zip"))
    assert not list((tmp_path / "db").rglob("*.pkl"))
    assert kepler_train("export", "-p", "mine", "-o", "db/models", "--legacy-pickles")[0] == 0
    assert len(list((tmp_path / "db").rglob("platform.pkl"))) == passing
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["db", "models"]


def test_a_training_none_of_whose_models_pass_keeps_them_and_their_reasons(
    kepler_train: KeplerTrain, data: Path, tmp_path: Path
) -> None:
    strict = ["--gate-mae", "0.01", "--gate-mape", "0.01"]
    options = ["-e", "acpi", "-ot", "AbsPower", "-fg", "BPFOnly", *LINEAR, *TYPE]
    code, lines, errors = kepler_train("train", "-p", "mine", *options, *strict)
    assert code == 3
    assert errors[0].startswith("error: None of the 1 models passes the gate: they are kept in models/mine")
    assert lines[-1].startswith("Wrote models/mine: 1 models, 0 pass the gate;")
    family = tmp_path / "models/mine/acpi/AbsPower/BPFOnly"
    metadata = json.loads((family / "LinearRegressionTrainer_0/metadata.json").read_text())
    assert metadata["refused"].endswith("above 0.01 W and 0.01 %")
    assert metadata["refused"] in (tmp_path / "models/mine/README.md").read_text()
    code, _, errors = kepler_train("export", "-p", "mine", "-o", "db/models", *strict)
    assert code == 3
    assert errors[0].startswith("error: None of the 1 models of mine passes the gate, so nothing is exported: acpi/Abs")
    assert not (tmp_path / "db/models/v0.7/mine").exists()
    # The gate of the export decides, not that of the training.
    assert kepler_train("export", "-p", "mine", "-o", "db/models", "--gate-mae", "1000")[0] == 0
    exported = tmp_path / "db/models/v0.7/mine/acpi/AbsPower/BPFOnly/LinearRegressionTrainer_0"
    assert "refused" not in json.loads((exported / "metadata.json").read_text())
    assert load_model(exported).name == load_model(exported.with_name(f"{exported.name}.zip")).name


def test_export_leaves_out_what_does_not_pass_its_gate_and_names_it(
    kepler_train: KeplerTrain, data: Path, tmp_path: Path
) -> None:
    options = ["-e", "acpi", "-ot", "AbsPower", "-fg", "BPFOnly,IRQOnly", *LINEAR, *TYPE, "--gate-limit", "1000"]
    kepler_train("train", "-p", "mine", *options)
    home = tmp_path / "models/mine/acpi/AbsPower"
    errors = {
        group: json.loads((home / group / "LinearRegressionTrainer_0/metadata.json").read_text())["mae"]
        for group in ("BPFOnly", "IRQOnly")
    }
    better, worse = sorted(errors, key=lambda group: errors[group])
    between = str((errors[better] + errors[worse]) / 2)
    gate = ["--gate-mae", between, "--gate-mape", "0.01", "--gate-limit", "1000"]
    code, lines, _ = kepler_train("export", "-p", "mine", "-o", "db/models", *gate)
    model = f"acpi/AbsPower/{worse}/LinearRegressionTrainer_0"
    assert (code, lines[-1]) == (0, "Wrote db/models/v0.7/mine: 1 models.")
    assert lines[0].startswith(f"warning: {model} does not pass the gate and is not exported: blocked")
    exported = tmp_path / "db/models/v0.7/mine"
    assert [path.parent.name for path in exported.glob("acpi/*/*/*.zip")] == [better]
    for table in (exported / "acpi_AbsPower_model_metadata.csv", exported / "error_report/node_type_0.md"):
        text = table.read_text()
        assert (text.count(f"LinearRegressionTrainer_0{',' if table.suffix == '.csv' else ' |'}"), better in text) == (
            1,
            True,
        )


def test_two_nodes_share_a_model_only_when_they_are_named(
    kepler_train: KeplerTrain, server: str, tmp_path: Path
) -> None:
    narrow = ["-e", "acpi", "-fg", "BPFOnly"]
    assert kepler_train("query", "--server", server, *WINDOW, *narrow)[0] == 0
    options = ["-p", "both", *narrow, "-ot", "AbsPower", *LINEAR]
    code, _, errors = kepler_train("train", *options)
    assert code == 2
    assert "The data hold 2 nodes (node-0, node-1)" in errors[0]
    assert not (tmp_path / "models/both").exists()
    kepler_train("train", *options, *TYPE, "--nodes", "node-0,node-1")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("query", 2, "Name the window in one way"),
        ("query --interval 60 --input stress", 2, "Name the window in one way"),
        ("query --interval -5", 2, "window_seconds"),
        ("query --start-time yesterday", 2, "start: "),
        ("query --start-time 2026-11-14T00:00:00", 2, "a time needs its zone"),
        ("query --start-time 2126-11-14T00:00:00Z --interval 60", 2, "in the future"),
        ("query --input nothing", 2, "nothing.json cannot be read"),
        ("query --input as_json", 2, "it needs startTimeUTC and endTimeUTC"),
        ("query --interval 60 --server nowhere", 2, "prometheus: "),
        ("query --interval 60 --server http://me:secret@here", 2, "credentials do not belong into an address"),
        ("query --interval 60 -fg BPFonly", 2, "did you mean 'BPFOnly'"),
        ("validate -i nothing", 2, "There is no query"),
        ("validate -i schedule.json", 2, "is not a list of series"),
        ("extract -e acp", 2, "did you mean 'acpi'"),
        ("extract -e acpi,hmc", 2, "a table holds one of them"),
        ("extract -ot Power", 2, "output_types"),
        ("extract --extractor smoth", 2, "did you mean 'smooth'"),
        ("extract -e hmc", 3, "no energy counters of hmc"),
        ("extract -fg ThirdParty", 2, "needs thirdparty_metrics"),
        ("extract -fg CgroupOnly", 3, "No data for feature group CgroupOnly"),
        ("extract --schedule nothing", 2, "There is no schedule"),
        ("extract --schedule stress.json", 2, "it has no phases"),
        ("extract -o .", 2, "is a folder"),
        ("extract -o ..", 2, "is a folder"),
        ("query --interval 60 -o .", 2, "holds something else"),
        ("query --interval 60 -o ..", 2, "holds something else"),
        ("isolate -ot AbsPower", 2, "AbsPower keeps its idle power"),
        ("isolate --isolator profile", 2, "make one with `kepler-train profile`"),
        ("train -p a/b", 2, "pipeline: "),
        ("train -p mine -e redfish", 3, "no energy counters of redfish"),
        ("export -p none -o db", 2, "is not a trained pipeline"),
        ("export -p mine -o db --benchmark stress --collect-date 2026-11-14T00:00:00Z", 2, "in one way"),
        ("export -p ../mine -o db", 2, "pipeline: "),
    ],
)
def test_what_cannot_work_is_one_sentence_and_its_exit_code(
    arguments: str, code: int, words: str, kepler_train: KeplerTrain, data: Path, tmp_path: Path
) -> None:
    before = sorted(data.iterdir())
    ended, _, errors = kepler_train(*arguments.split())
    assert (ended, len(errors)) == (code, 1)
    assert words in errors[0]
    assert "secret" not in errors[0].replace("PROMETHEUS_PASSWORD", "")
    assert sorted(data.iterdir()) == before
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("arguments", ["train", "train -p", "extract --nonsense", "query --interval soon", "nonsense"])
def test_a_line_that_cannot_be_read_ends_with_2(arguments: str, kepler_train: KeplerTrain) -> None:
    code, _, errors = kepler_train(*arguments.split())
    assert code == 2
    assert errors[-1].startswith("Error: ")


def test_two_queries_of_one_name_are_a_question_to_the_user(
    kepler_train: KeplerTrain, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAPATH", str(tmp_path))
    (tmp_path / "q").symlink_to(data / "kepler_query")
    (tmp_path / "q.json").symlink_to(data / "as_json.json")
    code, _, errors = kepler_train("validate", "-i", "q")
    assert code == 2
    assert "write q/ or q.json" in errors[0]
    assert kepler_train("validate", "-i", "q/")[0] == 0
    assert kepler_train("validate", "-i", "q.json")[0] == 0
    monkeypatch.setenv("DATAPATH", str(data / "kepler_query"))
    assert kepler_train("validate", "-i", ".")[0] == 0


def test_files_of_others_are_never_replaced(
    kepler_train: KeplerTrain, data: Path, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAPATH", str(tmp_path))
    for name in ("notes", "models/mine"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "thoughts.txt").write_text("mine")
    code, _, errors = kepler_train("query", "--server", server, *WINDOW, "-o", "notes")
    assert (code, "notes holds something else" in errors[0]) == (2, True)
    code, _, errors = kepler_train("train", "-p", "mine", "-i", str(data / "kepler_query"))
    assert (code, "models/mine holds something else" in errors[0]) == (2, True)
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["thoughts.txt", "thoughts.txt"]


def test_a_real_query_is_valid_and_gives_plausible_watts(
    kepler_train: KeplerTrain, shared_data: Path, tmp_path: Path
) -> None:
    recording = str(shared_data / "idle_broadwell_gpu.json")
    code, lines, errors = kepler_train("validate", "-i", recording, "-e", "rapl-sysfs,acpi")
    valid = next(line for line in lines if line.startswith("  valid ")).replace(",", "").split()
    assert {"BPFOnly", "BPFIRQ", "CounterOnly", "CounterIRQCombined", "Basic", "KubeletOnly"} < set(valid)
    assert (code, "too few to train on" in errors[0]) == (3, True)  # a minute and a half
    code, _, errors = kepler_train("extract", "-i", recording, "-fg", "Basic", "-o", str(tmp_path / "rapl"))
    assert (code, errors) == (0, [])
    rapl = pd.read_parquet(tmp_path / "rapl.parquet")
    assert set(rapl["node"]) == {"kind-fms-control-plane"}
    assert rapl["package_power"].between(1, 2000).all()
    assert rapl["dram_power"].between(1, 2000).all()
    assert kepler_train("extract", "-i", recording, "-e", "acpi", "-o", str(tmp_path / "acpi"))[0] == 0
    platform = pd.read_parquet(tmp_path / "acpi.parquet")["platform_power"]
    assert platform.between(1, 2000).all()
    code, _, errors = kepler_train("train", "-p", "idle", "-i", recording, "-fg", "Basic", *TYPE)
    assert (code, len(errors)) == (3, 1)  # a minute and a half is too little


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    program = (
        "import sys, resource; sys.argv = ['kepler-train', '--help']\n"
        "from kepler_train.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pandas', 'numpy', 'pyarrow', 'pydantic', 'requests', 'sklearn', 'xgboost'} & set(sys.modules)\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(sorted(heavy), used.ru_utime + used.ru_stime, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy, seconds = done.stderr.rsplit(maxsplit=1)
    assert heavy == "[]"
    assert float(seconds) < 0.4
    for command in ("query", "validate", "extract", "isolate", "train", "export"):
        assert f"\n  {command} " in done.stdout
