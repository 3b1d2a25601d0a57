"""A pipeline grows: machines are trained into it one after the other, and each keeps its models."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from simulated import write_node

from kepler_train.export.carry import carry_node_types, window_end
from kepler_train.models import load_model
from kepler_train.publish.folder import FolderTarget
from kepler_train.publish.grown import grown
from kepler_train.publish.publishing import pack
from kepler_train.publish.target import unless_older
from kepler_train.workspace.folder import FolderStore

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
Train = Callable[..., tuple[int, list[str], list[str]]]
NX1 = {"processor": "intel_xeon", "cores": 16, "chips": 2, "memory": 64, "frequency": 3600}
NX2 = NX1 | {"cores": 32}
QUICK = ["-fg", "BPFOnly", "-e", "rapl-sysfs", "--folds", "2", "--gate-mae", "40", "--gate-limit", "1000"]
LINEAR = ["--abs-trainers", "LinearRegressionTrainer", "-ot", "AbsPower"]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_node(tmp_path_factory.mktemp("node"), hours=1)


@pytest.fixture
def train(kepler_train: KeplerTrain, collected: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Train:
    monkeypatch.setenv("DATAPATH", str(tmp_path))
    for name, attributes in {"nx1": NX1, "nx2": NX2, "nx3": NX1}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"attrs": attributes, "members": []}))

    def run(*more: str) -> tuple[int, list[str], list[str]]:
        return kepler_train("train", "-p", "lab", "-i", str(collected / "kepler_query"), *QUICK, *LINEAR, *more)

    return run


def index_of(home: Path) -> dict[str, Any]:
    return dict(json.loads((home / "node_type_index.json").read_text()))


def listed(home: Path) -> list[str]:
    with (home / "rapl-sysfs_AbsPower_model_metadata.csv").open() as file:
        return sorted(row["model_name"] for row in csv.DictReader(file))


def content(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_two_machines_trained_into_a_pipeline_both_keep_their_models(train: Train, tmp_path: Path) -> None:
    home = tmp_path / "models/lab"
    family = home / "rapl-sysfs/AbsPower/BPFOnly"
    assert train("--id", "nx1")[0] == 0
    first = content(family / "LinearRegressionTrainer_0")
    assert train("--id", "nx2")[0] == 0
    assert index_of(home) == {
        "0": {"attrs": NX1, "members": ["nx1"]},
        "1": {"attrs": NX2, "members": ["nx2"]},
    }
    assert sorted(file.name for file in family.iterdir()) == sorted(
        f"LinearRegressionTrainer_{number}{suffix}" for number in (0, 1) for suffix in ("", ".json", ".zip")
    )
    assert content(family / "LinearRegressionTrainer_0") == first
    assert listed(home) == ["LinearRegressionTrainer_0", "LinearRegressionTrainer_1"]
    reports = sorted(file.name for file in (home / "error_report").iterdir())
    assert reports == ["node_type_0.html", "node_type_0.md", "node_type_1.md"]
    readme = (home / "README.md").read_text()
    assert "this report is on type 1" in readme
    assert "cores 16" in readme
    assert "| 1 | processor intel_xeon, cores 32," in readme
    # A third machine, equal to the first, takes the place of the first type's models and of nothing else.
    second = content(family / "LinearRegressionTrainer_1")
    assert train("--id", "nx3", "--seed", "1")[0] == 0
    assert index_of(home)["0"]["members"] == ["nx1", "nx3"]
    assert content(family / "LinearRegressionTrainer_1") == second
    assert content(family / "LinearRegressionTrainer_0") != first
    assert listed(home) == ["LinearRegressionTrainer_0", "LinearRegressionTrainer_1"]
    reports = sorted(file.name for file in (home / "error_report").iterdir())
    assert reports == ["node_type_0.md", "node_type_1.html", "node_type_1.md"]


def test_a_machine_that_is_not_known_is_refused_or_kept_under_a_type_of_its_own(train: Train, tmp_path: Path) -> None:
    home = tmp_path / "models/lab"
    for given, name in ([], "node-0"), (["--id", "strange"], "strange"):
        code, _, errors = train(*given)
        assert code == 2
        assert errors[0].startswith(f"error: The machine {name} is not known, so neither is its node type: ")
        assert not home.exists()
    assert train("--id", "nx1")[0] == 0
    assert train("--id", "strange", "--own-node-type")[0] == 0
    unknown = dict.fromkeys(NX1)
    assert index_of(home)["1"] == {"attrs": unknown, "members": ["strange"]}
    assert train("--id", "odd", "--own-node-type")[0] == 0
    assert index_of(home)["2"]["members"] == ["odd"]
    # The index knows it now by its name, and later by what it is.
    (tmp_path / "strange.json").write_text(json.dumps(NX1 | {"cores": 8}))
    assert train("--id", "strange")[0] == 0
    assert index_of(home)["1"] == {"attrs": NX1 | {"cores": 8}, "members": ["strange"]}


def test_a_number_that_is_asked_for_is_checked_against_the_index(train: Train, tmp_path: Path) -> None:
    home = tmp_path / "models/lab"
    assert train("--id", "nx1", "--node-type", "4")[0] == 0
    before = content(home)
    code, _, errors = train("--id", "nx2", "--node-type", "4")
    assert (code, errors) == (
        2,
        [
            "error: Node type 4 of lab is of machines with cores 16, and nx2 has cores 32: leave node_type empty, and"
            " the number is found."
        ],
    )
    code, _, errors = train("--id", "nx3", "--node-type", "5")
    assert (code, errors[0]) == (
        2,
        "error: nx3 is of node type 4 of lab, not of 5: leave node_type empty, or name 4.",
    )
    assert content(home) == before
    assert train("--id", "nx2")[0] == 0
    assert sorted(index_of(home)) == ["4", "5"]


def test_a_number_that_went_to_another_machine_meanwhile_is_changed_wherever_it_is(
    train: Train, tmp_path: Path
) -> None:
    home, fresh = tmp_path / "models/lab", tmp_path / "fresh/lab"
    assert train("--id", "nx1")[0] == 0
    shutil.copytree(home, fresh)
    shutil.rmtree(home)
    assert train("--id", "nx2")[0] == 0
    carry_node_types(home, fresh)
    assert index_of(fresh) == {"0": {"attrs": NX2, "members": ["nx2"]}, "1": {"attrs": NX1, "members": ["nx1"]}}
    family = fresh / "rapl-sysfs/AbsPower/BPFOnly"
    for model in (family / "LinearRegressionTrainer_1", family / "LinearRegressionTrainer_1.zip"):
        assert load_model(model).name == "LinearRegressionTrainer_1"
    weights = json.loads((family / "LinearRegressionTrainer_1.json").read_text())
    assert (weights["model_name"], weights["machine_spec"]["cores"]) == ("LinearRegressionTrainer_1", 16)
    assert listed(fresh) == ["LinearRegressionTrainer_0", "LinearRegressionTrainer_1"]
    assert window_end(fresh) == window_end(fresh, 0) == window_end(home)
    assert "LinearRegressionTrainer_1" in (fresh / "error_report/node_type_1.md").read_text()


def test_a_published_version_has_the_other_machines_of_the_latest(
    train: Train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    homes = {}
    for name in ("nx1", "nx2"):
        monkeypatch.setenv("MODEL_PATH", str(tmp_path / name))
        assert train("--id", name)[0] == 0
        homes[name] = tmp_path / name / "lab"
    end = window_end(homes["nx1"])
    assert end
    store = FolderStore(tmp_path / "published")
    target = FolderTarget(store)
    versions = []
    for name, moment in (("nx1", end), ("nx2", end - timedelta(days=1)), ("nx2", end - timedelta(days=2))):
        arguments = json.loads((homes[name] / "train_arguments.json").read_text()) | {"end": moment.isoformat()}
        (homes[name] / "train_arguments.json").write_text(json.dumps(arguments))
        with grown(homes[name], "lab", moment, target) as whole:
            version, package = pack(whole.folder, whole.end, tmp_path / f"packed{len(versions)}")
            place = Path(target.add(package, "lab", version))
        target.move_latest("lab", unless_older(version))
        versions.append((version, place, whole.end))
    (first, _, _), (second, place, ends), (third, _, late) = versions
    # nx2 is new in the pipeline: its version is the latest, although its window ended before that of nx1.
    assert ends == end
    assert listed(place) == ["LinearRegressionTrainer_0", "LinearRegressionTrainer_1"]
    assert {number: entry["members"] for number, entry in index_of(place).items()} == {"0": ["nx1"], "1": ["nx2"]}
    # An older window of nx2 is stored, and does not become the latest.
    assert late == end - timedelta(days=2)
    assert target.latest("lab") == second
    assert len({first, second, third}) == 3
