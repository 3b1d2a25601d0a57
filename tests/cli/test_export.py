"""`kepler-train export`: a pipeline in a model database, beside what is there."""

from __future__ import annotations

import csv
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kepler_train.models import load_model

Typed = Callable[[str], tuple[int, list[str], list[str]]]
GROUP = "rapl-sysfs/AbsPower/BPFOnly"
TABLE = "rapl-sysfs_AbsPower_model_metadata.csv"
LINEAR, SGD = "LinearRegressionTrainer", "SGDRegressorTrainer"
MACHINE = {"processor": "intel_xeon", "cores": 16, "chips": 2, "memory": 100, "frequency": 2800}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MODEL_PATH of three trainings of one pipeline: node type 0, the same again by another trainer, node type 1."""
    folder = tmp_path_factory.mktemp("trained")
    cpu = np.random.default_rng(0).uniform(0, 4000, 40)  # package = 20 + 0.03·cpu W
    rows = pd.DataFrame({"timestamp": 1_794_614_400 + 3 * np.arange(40), "node": "n", "id": "all containers"})
    rows = rows.assign(bpf_cpu_time_ms=cpu, bpf_page_cache_hit=1.0, package_power=20 + 0.03 * cpu)
    rows.to_csv(folder / "rows.csv", index=False)
    for name, cores in (("m0", 16), ("m1", 32)):
        (folder / f"{name}.json").write_text(json.dumps(MACHINE | {"cores": cores}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, machine, node_type, trainer in (
            ("first", "m0", 0, LINEAR),
            ("again", "m0", 0, SGD),
            ("other", "m1", 1, LINEAR),
            ("clash", "m1", 0, LINEAR),
        ):
            patch.setenv("MODEL_PATH", str(folder / name))
            options = f"-i rows.csv -p mine --trainers {trainer} --id {machine} --node-type {node_type} --gate-mae 50"
            run(patch, f"train-from-data {options}")
    return folder


def run(patch: pytest.MonkeyPatch, command: str) -> int:
    from kepler_train.cli import main

    patch.setattr("sys.argv", ["kepler-train", *command.split()])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@pytest.fixture
def typed(
    kepler_train: Callable[..., tuple[int, list[str], list[str]]], trained: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, list[str], list[str]]]:
    """`export` of one of the trainings, in an empty folder."""

    def export(command: str, training: str = "first") -> tuple[int, list[str], list[str]]:
        monkeypatch.setenv("MODEL_PATH", str(trained / training))
        return kepler_train("export", "-p", "mine", *command.split())

    return export


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """What every file holds, and when it was written."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def models(place: Path) -> set[str]:
    return {path.name for path in (place / GROUP).iterdir() if path.is_dir()}


def listed(place: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((place / TABLE).read_text().splitlines()))


def test_a_new_database_has_the_folder_of_the_format_version(typed: Typed, trained: Path) -> None:
    code, lines, errors = typed("-o db/models --publisher me --collect-date 2026-11-16")
    assert (code, lines[-1], errors) == (0, "Wrote db/models/v0.7/mine: 1 models.", [])
    place = Path("db/models/v0.7/mine")
    assert {path.name for path in place.parent.iterdir()} - {".scratch"} == {"mine", "mine.zip", "README.md", ".doc"}
    metadata = json.loads((place / "metadata.json").read_text())
    before = json.loads((trained / "first/mine/metadata.json").read_text())
    assert (metadata["publisher"], metadata["collect_time"]) == ("me", "2026-11-16T00:00:00Z")
    assert (metadata["init_time"], metadata["last_update_time"]) == (before["init_time"], before["last_update_time"])
    assert metadata["export_time"] >= metadata["last_update_time"] >= metadata["init_time"] > "2026-"


def test_the_zip_of_a_pipeline_unpacks_to_its_folder_with_a_zip_for_each_model(typed: Typed, tmp_path: Path) -> None:
    assert typed("-o db")[0] == 0
    shutil.unpack_archive("db/v0.7/mine.zip", "server/mine")  # as the earlier model server does
    unpacked = {name: content for name, (content, _) in state(tmp_path / "server/mine").items()}
    assert unpacked == {name: content for name, (content, _) in state(tmp_path / "db/v0.7/mine").items()}
    assert load_model(tmp_path / "server/mine" / GROUP / f"{LINEAR}_0.zip").name == f"{LINEAR}_0"


def test_the_same_export_twice_changes_nothing(typed: Typed, tmp_path: Path) -> None:
    export = "-o db --publisher me --legacy-pickles"
    assert typed(export)[0] == 0
    before = state(tmp_path / "db")
    code, lines, _ = typed(export)
    assert (code, lines[-1]) == (0, "db/v0.7/mine has these 1 models already.")
    assert state(tmp_path / "db") == before


def test_a_later_export_touches_only_what_has_changed(typed: Typed, tmp_path: Path) -> None:
    typed("-o db --publisher me")
    os.utime(tmp_path / "db/v0.7/mine/held_out.png", (1, 1))
    before = state(tmp_path / "db/v0.7/mine")
    assert typed("-o db --publisher you")[0] == 0
    after = state(tmp_path / "db/v0.7/mine")
    assert [name for name in after if after[name] != before[name]] == ["metadata.json"]


def test_other_node_types_pipelines_and_files_stay(typed: Typed, tmp_path: Path) -> None:
    place = tmp_path / "db/v0.7/mine"
    assert typed("-o db")[0] == 0
    (place / "notes.txt").write_text("theirs")
    (place / GROUP / "SVRRegressorTrainer_0.zip").write_bytes(b"theirs")
    with (place / TABLE).open("a") as table:
        table.write("SVRRegressorTrainer_0,scikit,,[],[],AbsPower,1.5,2.5,,,SVRRegressorTrainer,0,BPFOnly,{}\n")
    (place.parent / "ec2").mkdir()
    (place.parent / "ec2/metadata.json").write_text('{"name": "ec2"}')
    others = {name: content for name, content in state(place.parent).items() if not name.startswith(("mine", "R", "."))}
    code, _, errors = typed("-o db", "other")
    assert (code, errors) == (0, [])
    assert models(place) == {f"{LINEAR}_0", f"{LINEAR}_1"}
    assert (place / "notes.txt").read_text() == "theirs"
    assert [row["model_name"] for row in listed(place)] == [f"{LINEAR}_0", f"{LINEAR}_1", "SVRRegressorTrainer_0"]
    index = json.loads((place / "node_type_index.json").read_text())
    assert {number: (kind["attrs"]["cores"], kind["members"]) for number, kind in index.items()} == {
        "0": (16, ["m0"]),
        "1": (32, ["m1"]),
    }
    assert {report.name for report in (place / "error_report").iterdir()} == {
        "node_type_0.md",
        "node_type_0.html",
        "node_type_1.md",
    }
    for report in ("README.md", "report.html"):
        text = (place / report).read_text()
        assert (text.count("The pipeline has 2 node types"), "cores 16" in text, "cores 32" in text) == (1, True, True)
    before = state(place)
    assert typed("-o db", "other")[0] == 0
    assert state(place) == before
    assert "| [3 models](mine/README.md) |" in (place.parent / "README.md").read_text()
    assert {name: content for name, content in state(place.parent).items() if name in others} == others
    with zipfile.ZipFile(place.with_name("mine.zip")) as archive:
        assert {f"{GROUP}/{LINEAR}_0.zip", f"{GROUP}/{LINEAR}_1.zip", "notes.txt"} <= set(archive.namelist())


def test_models_of_the_same_node_type_are_replaced(typed: Typed, trained: Path, tmp_path: Path) -> None:
    place = tmp_path / "db/v0.7/mine"
    typed("-o db")
    first = json.loads((place / "metadata.json").read_text())
    assert typed("-o db", "again")[0] == 0
    assert models(place) == {f"{SGD}_0"}
    assert {path.name for path in (place / GROUP).iterdir()} <= {f"{SGD}_0{end}" for end in ("", ".zip", ".json")}
    assert [row["model_name"] for row in listed(place)] == [f"{SGD}_0"]
    metadata, again = (json.loads((at / "metadata.json").read_text()) for at in (place, trained / "again/mine"))
    assert (metadata["init_time"], metadata["last_update_time"]) == (first["init_time"], again["last_update_time"])


def test_another_machine_of_the_same_node_type_is_refused(typed: Typed, tmp_path: Path) -> None:
    typed("-o db")
    before = state(tmp_path / "db")
    code, _, errors = typed("-o db", "clash")
    assert (code, len(errors)) == (2, 1)
    assert "db/v0.7/mine has models for another machine as node type 0: processor intel_xeon, cores 16" in errors[0]
    assert state(tmp_path / "db") == before


def test_without_zips_there_are_none_and_no_old_one_of_the_pipeline(typed: Typed, tmp_path: Path) -> None:
    typed("-o db")
    assert typed("-o db --zip=false")[0] == 0
    assert not list((tmp_path / "db").rglob("*.zip"))
    (tmp_path / "db/v0.7/mine.zip").write_bytes(b"theirs")
    code, lines, errors = typed("-o db")
    assert code == 0
    assert any("mine.zip was not written by kepler-train and is left as it is" in line for line in (*lines, *errors))
    assert (tmp_path / "db/v0.7/mine.zip").read_bytes() == b"theirs"


def test_a_pipeline_of_the_layout_of_before_stays_where_it_is(typed: Typed, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "again/mine", tmp_path / "db/mine")
    before = state(tmp_path / "db/mine")
    code, lines, errors = typed("-o db")
    assert code == 0
    assert any("db/mine is of an earlier version and is left as it is" in line for line in (*lines, *errors))
    assert state(tmp_path / "db/mine") == before
    assert models(tmp_path / "db/v0.7/mine") == {f"{LINEAR}_0"}


def test_the_folder_of_the_format_version_may_be_named_itself(typed: Typed, tmp_path: Path) -> None:
    assert typed("-o db/v0.7")[0] == 0
    assert (tmp_path / "db/v0.7/mine/metadata.json").is_file()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("-o notes", "-o notes is not a model database: it holds thoughts.txt and no folder of a format version"),
        ("-o clone", "-o clone is not the folder of models of the model database: name clone/models."),
        ("-o notes/thoughts.txt", "-o notes/thoughts.txt is a file"),
        ("-o db/v0.6", "-o db/v0.6 is of another format than v0.7"),
        ("-o taken", "taken/v0.7/mine holds something else and is left as it is"),
        ("-o db --collect-date yesterday", "--collect-date yesterday is not a time: write it as 2026-11-14T02:00:00Z"),
        ("-o db --collect-date 2026-11-31", "--collect-date 2026-11-31 is not a time"),
        ("-o db --collect-date 2026-11-14T02:00", "--collect-date 2026-11-14T02:00: a time needs its zone"),
        ("-o db --benchmark nothing", "nothing.json cannot be read"),
    ],
)
def test_what_cannot_work_names_what_was_typed(command: str, words: str, typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/thoughts.txt").write_text("mine")
    (tmp_path / "clone/models/v0.6").mkdir(parents=True)
    (tmp_path / "clone/README.md").write_text("theirs")
    (tmp_path / "taken/v0.7/mine").mkdir(parents=True)
    (tmp_path / "taken/v0.7/mine/thoughts.txt").write_text("mine")
    before = state(tmp_path)
    code, _, errors = typed(command)
    assert (code, len(errors)) == (2, 1)
    assert words in errors[0]
    assert state(tmp_path) == before


def test_two_exports_at_once_keep_the_models_of_both(trained: Path, tmp_path: Path) -> None:
    from multiprocessing import get_context

    context = get_context("fork")
    children = [context.Process(target=_export, args=(trained / name, tmp_path / "db")) for name in ("first", "other")]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    place = tmp_path / "db/v0.7/mine"
    assert models(place) == {f"{LINEAR}_0", f"{LINEAR}_1"}
    assert len(listed(place)) == 2
    with zipfile.ZipFile(place.with_name("mine.zip")) as archive:
        assert sum(name.endswith("_model_metadata.csv") for name in archive.namelist()) == 1
        assert {f"{GROUP}/{LINEAR}_0.zip", f"{GROUP}/{LINEAR}_1.zip"} <= set(archive.namelist())


def _export(models: Path, database: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MODEL_PATH", str(models))
        raise SystemExit(run(patch, f"export -p mine -o {database}"))
