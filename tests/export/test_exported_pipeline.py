"""A pipeline from simulated samples to the folder that other tools read."""

from __future__ import annotations

import ast
import csv
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from labelled_rows import node_type
from temporary import train_models

from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.card import write_card
from kepler_train.export.database import copy_pipeline, held_out_errors
from kepler_train.export.layout import export_model, export_pipeline
from kepler_train.export.report import write_report
from kepler_train.extract.frame_files import NODE_FILE
from kepler_train.isolate.isolation import isolated_node_file
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.machine.node_types import Match, NodeTypeIndex
from kepler_train.machine.spec import MachineSpec
from kepler_train.model_key import ModelKey
from kepler_train.models import load_model
from kepler_train.models.metadata import ModelMetadata
from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import schema, table, window_of
from kepler_train.samples.schedule import Schedule
from kepler_train.simulate.history import exported, write_schedule
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.simulate.store import store_of
from kepler_train.spec import RunSpec

SOURCE = "rapl-sysfs"
# The results of the steps, in the folder of the test.
RESULTS = "scratch/workspace/runs/mine/temporary"
TREES = ModelKey(SOURCE, "DynPower", "Basic", "XgboostFitTrainer")

MACHINE = MachineSpec(processor="intel_xeon", cores=16, chips=2)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three hours of one node, with its schedule beside them."""
    folder = tmp_path_factory.mktemp("samples")
    runs = run_nodes(Scenario(start=1_794_614_400.0, duration=3 * 3600, seed=2, containers=6, phase=300, idle=120))
    by_metric: dict[str, list[DecodedSeries]] = {}
    for one in store_of(exported(runs, "legacy", [SOURCE], frozenset(), seed=2)).series:
        by_metric.setdefault(one.labels["__name__"], []).append(DecodedSeries(one.labels, one.times, one.values))
    for metric, answer in by_metric.items():
        labels = {name for one in answer for name in one.labels} - {"__name__"}
        pq.write_table(table(answer, schema(metric, labels)), folder / f"{metric}.parquet")
    write_schedule(folder / "schedule.json", runs, "simulated")
    return folder


@pytest.fixture(scope="module")
def work(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both output types; DynPower by the linear one is too rough for the gate that is set here."""
    folder = tmp_path_factory.mktemp("pipeline")
    (folder / "scratch").mkdir()
    start, end = window_of(samples)
    spec = RunSpec(
        pipeline="mine",
        machine_id="m5",
        publisher="me",
        feature_groups=["Basic"],
        abs_trainers=["LinearRegressionTrainer"],
        folds=3,
        node_type=2,
        start=start,
        end=end,
        gate_mae=6,
        gate_mape=20,
    )
    schedule = Schedule.model_validate_json((samples / "schedule.json").read_bytes())
    train_models(samples, spec, schedule, "a/run", folder / "scratch", folder, MACHINE)
    return folder


@pytest.fixture(scope="module")
def evaluation(work: Path) -> Evaluation:
    return Evaluation.read(work / RESULTS / "evaluate")


def folders(work: Path) -> list[Path]:
    return sorted(path for path in (work / "mine").glob("*/*/*/*") if path.is_dir())


def test_what_passes_is_there_and_what_does_not_is_not(work: Path, evaluation: Evaluation) -> None:
    passing = evaluation.passing
    assert 0 < len(passing) < 3
    assert {path.relative_to(work / "mine").as_posix() for path in folders(work)} == {f"{key}_2" for key in passing}


def test_the_layout_has_the_names_that_other_tools_look_for(work: Path) -> None:
    for folder in folders(work):
        _, output_type, group, name = folder.relative_to(work / "mine").parts
        assert (output_type in ("AbsPower", "DynPower"), group) == (True, "Basic")
        assert folder.with_name(f"{name}.zip").is_file()
        assert folder.with_name(f"{name}.json").read_bytes() == (folder / "weight.json").read_bytes()
        files = json.loads((folder / f"{name}.json").read_text())
        assert list(files) == ["package", "core", "uncore", "dram"]
        assert all((folder / own["model_file"]).is_file() for own in files.values())
        with zipfile.ZipFile(folder.with_name(f"{name}.zip")) as archive:
            inside = {entry: archive.read(entry) for entry in archive.namelist()}
        assert inside == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_metadata_name_the_worst_component_and_every_figure_behind_it(work: Path) -> None:
    for folder in folders(work):
        metadata = json.loads((folder / "metadata.json").read_text())
        known = [
            "model_name",
            "trainer",
            "model_class",
            "model_file",
            "features",
            "fe_files",
            "output_type",
            "node_type",
            "machine_spec",
        ]
        assert set(known) <= set(metadata)
        assert metadata["machine_spec"] == {"processor": "intel_xeon", "cores": 16, "chips": 2}
        assert metadata["model_name"] == folder.name == f"{metadata['trainer']}_2"
        assert metadata["mae"] == max(metadata[f"{part}_mae"] for part in ("package", "core", "uncore", "dram"))
        assert metadata["mape"] == max(metadata[f"{part}_mape"] for part in ("package", "core", "uncore", "dram"))
        assert set(metadata["figures"]) == {str(protocol) for protocol in Protocol}
        if metadata["output_type"] == "DynPower":
            errors = metadata["additivity_error"].values()
            assert (max(errors) < 1e-9) == (metadata["attribution"] == "additive")


def test_every_trained_dyn_model_stores_whether_it_adds_up(work: Path) -> None:
    errors = {
        folder.parent.name: max(json.loads((folder / "metadata.json").read_text())["additivity_error"].values())
        for folder in (work / RESULTS / "train" / SOURCE / "DynPower/Basic").glob("*/model")
    }
    assert errors["LinearRegressionTrainer"] < 1e-9
    assert errors["XgboostFitTrainer"] > 0.1  # W


def test_an_exported_model_loads_and_its_weights_give_the_same_watts(work: Path) -> None:
    for folder in folders(work):
        model = load_model(folder)
        file = (
            Path("extract", NODE_FILE) if "AbsPower" in folder.parts else Path("isolate", isolated_node_file("Basic"))
        )
        rows = pd.read_parquet(work / RESULTS / file)
        predicted = model.predict(rows)
        assert all((watts >= 0).all() for watts in predicted.values())
        weights = json.loads(folder.with_name(f"{folder.name}.json").read_text())
        assert weights["model_name"] == folder.name
        if model.trainer == "LinearRegressionTrainer":
            for component, watts in predicted.items():
                entry = weights[component]["All_Weights"]
                power = entry["Bias_Weight"] + sum(
                    own["weight"] * rows[name] / own["scale"] for name, own in entry["Numerical_Variables"].items()
                )
                np.testing.assert_allclose(power, watts, rtol=1e-9)


def test_the_pipeline_describes_itself(work: Path, evaluation: Evaluation) -> None:
    metadata = json.loads((work / "mine/metadata.json").read_text())
    assert (metadata["name"], metadata["publisher"], metadata["isolator"]) == (
        "mine",
        "me",
        "profile",
    )  # auto: the schedule idles
    assert metadata["collect_time"] == "2026-11-14T03:00:00Z"
    trained = [json.loads(file.read_text()) for file in (work / RESULTS / "train").rglob("manifest.json")]
    times = min(part["started"] for part in trained), max(part["ended"] for part in trained)
    assert (metadata["init_time"], metadata["last_update_time"]) == tuple(f"{time[:19]}Z" for time in times)
    assert "export_time" not in metadata
    assert json.loads((work / "mine/train_arguments.json").read_text())["gate_mae"] == 6
    node_types = NodeTypeIndex.read(work / "mine/node_type_index.json")
    assert node_types.types[2].members == ["m5"]
    assert node_types.look_up(MACHINE) == Match(2, unknown=("memory", "frequency"))
    rows = [
        row
        for file in (work / "mine").glob("*_model_metadata.csv")
        for row in csv.DictReader(file.read_text().splitlines())
    ]
    assert len(rows) == len(evaluation.passing)
    components = [f"{name}_{error}" for error in ("mae", "mape") for name in ("package", "core", "uncore", "dram")]
    assert list(rows[0]) == [
        *("model_name", "model_class", "model_file", "features", "fe_files", "output_type", "mae", "mape"),
        *components,
        *("trainer", "node_type", "feature_group", "machine_spec"),
    ]
    for row in rows:
        folder = work / "mine" / SOURCE / row["output_type"] / "Basic" / row["model_name"]
        own = json.loads((folder / "metadata.json").read_text())
        assert ast.literal_eval(row["features"]) == own["features"]
        assert ast.literal_eval(row["machine_spec"]) == own["machine_spec"]
        assert (row["model_class"], row["model_file"], row["trainer"]) == (
            *(own["model_class"], own["model_file"]),
            own["trainer"],
        )
        assert (row["node_type"], float(row["mae"]), float(row["dram_mape"])) == ("2", own["mae"], own["dram_mape"])
    report = (work / "mine/error_report/node_type_2.md").read_text()
    for row in rows:
        figures = " | ".join(f"{float(row[name]):.2f}" for name in ("mae", "mape", "package_mae", "package_mape"))
        assert f"| {row['model_name']} | Basic | {figures} |" in report


def test_trivial_models_stand_in_the_error_report_and_not_in_the_tables_for_tools(work: Path) -> None:
    trivial = json.loads((work / RESULTS / "evaluate/evaluation.json").read_text())["baselines"]
    sections = (work / "mine/error_report/node_type_2.md").read_text().split("# ")[1:]
    named = {section.splitlines()[0]: section.splitlines() for section in sections}
    assert named
    for output_type, line in (("AbsPower", "idle + linear in CPU time"), ("DynPower", "linear in CPU time")):
        lines = named.get(f"{SOURCE} {output_type}", [])
        for name, title in (("mean", "the mean power"), ("cpu_time", line)) if lines else ():
            blocked = trivial[f"{SOURCE}/{output_type}/Basic"][name]["blocked"]
            errors = max(own["mae"] for own in blocked.values()), max(own["mape"] for own in blocked.values())
            (row,) = [line for line in lines if line.startswith(f"| *{title}* | Basic |")]
            assert row.split(" | ")[2:4] == [f"{error:.2f}" for error in errors]
    assert "*" not in "".join(file.read_text() for file in (work / "mine").glob("*_model_metadata.csv"))


def test_a_pipeline_names_the_trainers_of_the_output_types_that_were_asked_for(work: Path, tmp_path: Path) -> None:
    spec = RunSpec.model_validate_json((work / "mine/train_arguments.json").read_bytes())
    nothing = Evaluation(models={}, baselines={}, missing={})
    for asked, trainers in (["AbsPower"], (spec.abs_trainers, [])), (["DynPower"], ([], spec.dyn_trainers)):
        home = tmp_path / asked[0]
        home.mkdir()
        export_pipeline(home, spec.model_copy(update={"output_types": asked}), "none", nothing, node_type(0))
        metadata = json.loads((home / "metadata.json").read_text())
        assert (metadata["abs_trainers"], metadata["dyn_trainers"]) == trainers


def test_the_report_has_a_line_for_each_model_and_component_beside_trivial_ones(
    work: Path, evaluation: Evaluation
) -> None:
    report = (work / "mine/README.md").read_text()
    _, *sections = report.split("\n### ")
    tables = {section.splitlines()[0]: section for section in sections}
    for key, verdict in evaluation.models.items():
        for component in ("package", "core", "uncore", "dram"):
            table = tables[f"{key.output_type} of {key.source}: {component}"]
            assert table.count(f"\n| {key.trainer} | {key.group} |") == 1
        line = next(line for line in report.splitlines() if line.startswith(f"| {key} |"))
        assert line.count("|") == (4 if verdict.passes else 5)  # what is refused has a reason
    for name, section in tables.items():
        line = "idle + linear in CPU time" if name.startswith("AbsPower") else "linear in CPU time"
        for trivial in ("the mean power", line):
            assert section.count(f"\n| *{trivial}* | Basic |") == 1
        head, *lines = [line for line in section.splitlines() if line.startswith("| ")][:5]
        assert {line.count("|") for line in lines} == {head.count("|")}


def test_every_picture_of_the_report_is_there_and_every_picture_is_in_the_report(work: Path) -> None:
    linked = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (work / "mine/README.md").read_text())
    tables = {file.name.removesuffix("_model_metadata.csv") for file in (work / "mine").glob("*_model_metadata.csv")}
    pictures = {f"{name}_{kind}.png" for name in tables for kind in ("model_metadata", "power_curve")}
    assert sorted(linked) == sorted({"held_out.png"} | pictures)
    assert {file.name for file in (work / "mine").glob("*.png")} == set(linked)
    for name in linked:
        assert (work / "mine" / name).read_bytes()[:4] == b"\x89PNG"


def test_the_same_model_gives_the_same_archive_to_the_byte(work: Path, evaluation: Evaluation, tmp_path: Path) -> None:
    for name in ("first", "second"):
        export_model(work / RESULTS / "train" / str(TREES), tmp_path / name, TREES, evaluation)
    first, second = (next((tmp_path / name).rglob("*.zip")).read_bytes() for name in ("first", "second"))
    assert first == second


def test_every_model_has_a_card_with_its_figures_and_limits(work: Path) -> None:
    for folder in folders(work):
        card, metadata = (folder / "model_card.md").read_text(), json.loads((folder / "metadata.json").read_text())
        assert card.startswith(f"# {folder.name}: {metadata['output_type']} of {SOURCE} from Basic\n")
        for component in ("package", "core", "uncore", "dram"):
            errors = [metadata["figures"][str(protocol)][component] for protocol in Protocol]
            cells = " | ".join(f"{own['mae']:.2f} ({own['mape']:.1f} %)" for own in errors)
            assert f"| {component} | {cells} | {errors[2]['rmse']:.2f} | {errors[2]['p95']:.2f} |" in card
            trivial = [metadata["trivial"]["mean"][str(protocol)][component] for protocol in Protocol]
            cells = " | ".join(f"{own['mae']:.2f} ({own['mape']:.1f} %)" for own in trivial)
            far = f"{trivial[2]['rmse']:.2f} | {trivial[2]['p95']:.2f} | {trivial[1]['idle_bias']:.2f}"
            worst = f"{trivial[2]['worst_workload']}: {trivial[2]['worst_workload_mae']:.2f} W"
            assert f"| *{component}: the mean power* | {cells} | {far} | {worst} | " in card
            assert f"| {component}.onnx | " in card
        rows = ", ".join(f"{name} {own['package']['rows']}" for name, own in metadata["figures"].items())
        assert f"Rows behind each figure: {rows}." in card
        for words in ("m5, node type 2, processor intel_xeon, cores 16, chips 2", "2026-11-14T", "| cpu_cycles | "):
            assert words in card
        assert all(f"{name} ({rows} rows)" in card for name, rows in metadata["workloads"].items())


@pytest.fixture(scope="module")
def trees(work: Path, evaluation: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DynPower by boosted trees, exported as if it passed the gate."""
    home = tmp_path_factory.mktemp("trees")
    export_model(work / RESULTS / "train" / str(TREES), home, TREES, evaluation)
    return home / f"{TREES}_2"


def card_of(trees: Path, **changed: Any) -> str:
    """The card where the metadata say something else."""
    held_out = HeldOut.of(
        pd.DataFrame(
            {
                "time": pd.to_datetime(["2026-11-14"], utc=True),
                "node": "a",
                "workload": "cpu",
                "protocol": "leave-one-workload-out",
                "component": "package",
                "measured": 50.0,
                "predicted": 49.0,
            }
        )
    )
    content = json.loads((trees / "metadata.json").read_text()) | changed
    write_card(trees, ModelMetadata.model_validate(content), held_out)
    return (trees / "model_card.md").read_text()


def test_a_card_says_what_its_additivity_error_is_and_where_there_is_none(trees: Path) -> None:
    worst = {"package": 38.8, "dram": 0.3}
    assert "by 38.80 W on average over windows, for package, the worst component.\n" in card_of(
        trees, additivity_error=worst
    )
    unknown = card_of(trees, additivity_error=None)
    assert "is not known, since no window of the data has two containers.\n" in unknown
    assert "differs from what it says of their node" not in unknown


def test_a_card_says_by_what_rule_containers_share_and_that_the_interval_is_a_nodes(trees: Path) -> None:
    shares, share_of_interval = "among the containers by the rule `proportional`", "containers have their share of it"
    card = card_of(trees, attribution="proportional")
    assert shares in card
    assert share_of_interval in card
    assert shares not in card_of(trees, attribution="additive")
    assert share_of_interval not in card_of(trees, output_type="AbsPower")


@pytest.mark.parametrize(
    ("off", "words"),
    [
        (12.34, "cpu: 12.3 % too high"),
        (-3.4, "cpu: 3.4 % too low"),
        (-0.04, "cpu: 0.0 %"),
        (None, "–"),
    ],
)
def test_a_card_says_how_far_off_energy_is_and_which_way(trees: Path, off: float | None, words: str) -> None:
    figures = json.loads((trees / "metadata.json").read_text())["figures"]
    figures["leave-one-workload-out"]["dram"] |= {
        "energy_error": off,
        "energy_worst_workload": None if off is None else "cpu",
    }
    (line,) = [
        line for line in card_of(trees, figures=figures).splitlines() if line.startswith("| dram | ") and "W |" in line
    ]
    assert line.endswith(f" W | {words} |")


def test_an_error_without_a_share_has_no_empty_brackets_on_a_card(trees: Path) -> None:
    figures = json.loads((trees / "metadata.json").read_text())["figures"]
    for of_protocol in figures.values():
        of_protocol["dram"] |= {"mae": 0.25, "mape": None}
    assert "| dram | 0.25 | 0.25 | 0.25 | 0.25 |" in card_of(trees, figures=figures)


def test_a_card_calls_a_line_by_the_feature_that_stands_for_the_load(trees: Path) -> None:
    figures = json.loads((trees / "metadata.json").read_text())["figures"]
    features = dict.fromkeys(("package", "core", "uncore"), "cpu_instructions") | {"dram": "cache_miss"}
    dyn = card_of(trees, trivial={"cpu_time": figures}, trivial_features=features)
    assert dyn.count("| *package: linear in cpu_instructions* |") == dyn.count("| *dram: linear in cache_miss* |") == 1
    features = dict.fromkeys(figures["blocked"], "bpf_cpu_time_ms")
    of_node = card_of(trees, trivial={"cpu_time": figures}, trivial_features=features, output_type="AbsPower")
    assert "| *package: idle + linear in CPU time* |" in of_node


def test_the_example_of_a_card_runs_as_it_stands(work: Path) -> None:
    folder = folders(work)[0]
    example = (folder / "model_card.md").read_text().partition("```python\n")[2].partition("```")[0]
    done = subprocess.run([sys.executable, "-c", example], cwd=folder, capture_output=True, text=True, check=True)
    idle = load_model(folder).predict(pd.DataFrame(0.0, index=[0], columns=load_model(folder).features))["package"]
    assert float(done.stdout.partition("[[")[2].partition("]]")[0]) == pytest.approx(idle[0], abs=0.05)


def test_a_card_shows_held_out_rows_by_workload(work: Path) -> None:
    for folder in folders(work):
        picture = ElementTree.fromstring((folder / "held_out.svg").read_text())  # noqa: S314  # our own
        texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
        assert [name for name in texts if name in ("package", "core", "uncore", "dram")] == [
            "package",
            "core",
            "uncore",
            "dram",
        ]
        assert {"stream", "cpu", "vm-rw"} <= set(texts)


def test_a_sealed_model_passes_sha256sum(work: Path) -> None:
    for folder in folders(work):
        listed = {line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
        assert listed == {file.name for file in folder.iterdir()} - {"SHA256SUMS"}
        assert subprocess.run(["sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS"], cwd=folder).returncode == 0


def test_a_copy_has_pickles_on_request_and_still_loads(work: Path, tmp_path: Path) -> None:
    count = copy_pipeline(work / "mine", tmp_path / "mine", {}, archives=True, pickles=True)
    copies = folders(tmp_path)
    assert len(copies) == count == len(folders(work))
    for folder in copies:
        assert {"package.pkl", "dram.pkl", "scaler.pkl"} <= {file.name for file in folder.iterdir()}
        rows = pd.DataFrame(1e6, index=range(3), columns=load_model(folder).features)
        own = load_model(work / folder.relative_to(tmp_path)).predict(rows)["dram"]
        for path in (folder, folder.with_name(f"{folder.name}.zip")):
            np.testing.assert_array_equal(load_model(path).predict(rows)["dram"], own)
    assert held_out_errors(tmp_path / "mine").equals(held_out_errors(work / "mine"))


def test_the_report_names_formats_that_were_left_out(work: Path, tmp_path: Path) -> None:
    spec = RunSpec.model_validate_json((work / "mine/train_arguments.json").read_bytes())
    isolation = Isolation.model_validate_json((work / RESULTS / "isolate" / ISOLATION).read_bytes())
    content = json.loads((work / RESULTS / "evaluate/evaluation.json").read_text())
    part = f"{SOURCE}/AbsPower/Basic/LinearRegressionTrainer"
    for refused, lines in ({}, 0), ({"dram.onnx": "it gives 3 W where 2 W are right"}, 1):
        content["models"][part]["training"]["refused_formats"] = refused
        write_report(tmp_path / "README.md", spec, Evaluation.model_validate(content), isolation, "a/run")
        report = (tmp_path / "README.md").read_text()
        assert report.count("## Formats that were left out") == lines
        assert report.count(f"- {part}: dram.onnx, because it gives 3 W where 2 W are right\n") == lines
