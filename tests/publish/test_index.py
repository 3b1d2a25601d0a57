"""The list above pipelines has a row for each, whoever publishes when, and nothing of others is lost."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest
from killing import ended, in_a_child
from publishing import FIRST, SECOND, Publishing

from kepler_train.export.overview import COLUMNS
from kepler_train.publish.index import BEGIN, END, list_pipeline
from kepler_train.publish.step import publish as publish_step
from kepler_train.publish.target import open_target, unless_older
from kepler_train.spec import RunSpec
from kepler_train.workspace import Inputs, Run, open_store

TABLE = "model_name,feature_group,mae,mape,package_mae,package_mape\n"


def pipeline(folder: Path, name: str, mae: float = 2.5, publisher: str = "me", legacy: bool = False) -> Path:
    """The files of a pipeline with two AbsPower models."""
    model = folder / "rapl-sysfs/AbsPower/Basic/Linear_3"
    model.mkdir(parents=True)
    workloads = json.dumps({"workloads": {"cpu": 10, "vm-rw": 20}})
    (model / "metadata.json").write_text("{}" if legacy else workloads)
    if legacy:
        (model / "details.json").write_text(workloads)
    metadata = {
        "name": name,
        "isolator": "min",
        "extractor": "default",
        "abs_trainers": ["Linear", "Trees"],
        "dyn_trainers": ["Linear"],
        "init_time": "2026-11-14T00:00:00Z",
        "last_update_time": "2026-11-14T02:30:00Z",
        "collect_time": "2026-11-13T22:00:00Z",
        "publisher": publisher,
    }
    arguments = {"energy_sources": ["rapl-sysfs", "acpi"], "output_types": ["AbsPower"], "machine_id": "m5"}
    arguments |= {"node_type": 3, "feature_groups": ["Basic"]}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    (folder / "train_arguments.json").write_text(json.dumps(arguments))
    table = f"{TABLE}Linear_3,Basic,{mae},4.26,{mae},4.26\nTrees_3,Basic,9.0,,9.0,\n"
    (folder / "rapl-sysfs_AbsPower_model_metadata.csv").write_text(table)
    return folder


def publish(uri: str, name: str, version: str, exported: Path) -> None:
    target = open_target(uri)
    target.add(exported, name, version)
    target.move_latest(name, unless_older(version))
    list_pipeline(uri, name)


def read(uri: str, key: str = "README.md") -> str:
    return (open_store(uri).read(key) or b"").decode()


def rows(uri: str) -> list[list[str]]:
    """The cells of every row between the marks."""
    lines = read(uri).partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    assert cells[0] == COLUMNS
    return cells[2:]


def test_a_row_and_a_page_say_what_a_pipeline_is(publishing: Publishing, tmp_path: Path) -> None:
    uri = publishing.new()
    publish(uri, "lab", FIRST, pipeline(tmp_path / "lab", "lab"))
    assert rows(uri) == [
        [
            "[lab](.doc/lab.md)",
            "m5, node type 3",
            "AbsPower of rapl-sysfs: 2.50 W (4.3 %)",
            "2026-11-13 22:00 UTC",
            "2026-11-14 02:30 UTC",
            "me",
            f"[2 models](lab/{FIRST}/README.md)",
        ]
    ]
    page = read(uri, ".doc/lab.md")
    for line in ("# Pipeline lab", "- **Isolator:** min", "- **AbsPower trainers:** Linear, Trees"):
        assert f"\n{line}\n" in page
    assert f"[Linear_3](../lab/{FIRST}/rapl-sysfs/AbsPower/Basic/Linear_3/model_card.md)" in page
    assert "\n- **Workloads:** cpu, vm-rw\n" in page
    assert "DynPower" not in page  # which this pipeline does not have


def test_a_newer_version_takes_the_row_and_an_older_one_does_not(publishing: Publishing, tmp_path: Path) -> None:
    uri = publishing.new()
    publish(uri, "lab", SECOND, pipeline(tmp_path / "second", "lab", mae=2.0))
    assert "2.00 W" in rows(uri)[0][2]
    publish(uri, "lab", FIRST, pipeline(tmp_path / "first", "lab", mae=1.0))  # a backfill
    assert [(row[2], row[6]) for row in rows(uri)] == [
        ("AbsPower of rapl-sysfs: 2.00 W (4.3 %)", f"[2 models](lab/{SECOND}/README.md)")
    ]


def test_pipelines_published_at_once_are_all_listed(publishing: Publishing, tmp_path: Path) -> None:
    names = [f"lab-{number}" for number in range(6)]
    exported = {name: pipeline(tmp_path / name, name) for name in names}
    for uri in [publishing.new() for _ in range(3 if publishing.kind == "folder" else 1)]:
        children = [in_a_child(partial(publish, uri, name, FIRST, exported[name])) for name in names]
        assert [ended(pid) for pid in children] == [0] * 6
        assert [row[0] for row in rows(uri)] == [f"[{name}](.doc/{name}.md)" for name in names]


def test_versions_published_at_once_leave_the_row_of_the_newest(publishing: Publishing, tmp_path: Path) -> None:
    versions = {f"2026112{night}T020000Z-0000000{night}": float(night) for night in range(1, 6)}
    exported = {version: pipeline(tmp_path / version, "lab", mae) for version, mae in versions.items()}
    for uri in [publishing.new() for _ in range(3 if publishing.kind == "folder" else 1)]:
        children = [in_a_child(partial(publish, uri, "lab", version, exported[version])) for version in versions]
        assert [ended(pid) for pid in children] == [0] * 5
        assert [row[2] for row in rows(uri)] == ["AbsPower of rapl-sysfs: 5.00 W (4.3 %)"]
        assert "5.00 W" in read(uri, ".doc/lab.md")


@pytest.mark.parametrize("key", ["README.md", ".doc/lab.md"])
def test_who_writes_over_what_another_has_just_written_puts_it_right(
    publishing: Publishing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    uri = publishing.new()
    kind = type(open_store(uri))
    write, newer = kind.write, pipeline(tmp_path / "newer", "lab", mae=2.0)
    other = pipeline(tmp_path / "other", "other")

    def late(self: object, name: str, content: bytes) -> None:
        """The first write of the file comes after all that two other publishers do."""
        if name == key:
            monkeypatch.setattr(kind, "write", write)
            publish(uri, "lab", SECOND, newer)
            publish(uri, "other", FIRST, other)
        write(self, name, content)

    monkeypatch.setattr(kind, "write", late)
    publish(uri, "lab", FIRST, pipeline(tmp_path / "older", "lab", mae=1.0))
    assert [(row[0], row[2].split()[3]) for row in rows(uri)] == [
        ("[lab](.doc/lab.md)", "2.00"),
        ("[other](.doc/other.md)", "2.50"),
    ]
    assert "2.00 W" in read(uri, ".doc/lab.md")


def test_what_is_not_ours_stays_as_it_is(
    publishing: Publishing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = publishing.new()
    store = open_store(uri)
    store.write("README.md", b"# Ours\n\nHands off.\n")
    store.write(".doc/lab.md", b"# Lab\n")
    publish(uri, "lab", FIRST, pipeline(tmp_path / "lab", "lab"))
    assert read(uri) == "# Ours\n\nHands off.\n"
    assert read(uri, ".doc/lab.md") == "# Lab\n"
    said = capsys.readouterr().out
    assert f"{uri}/README.md was not written by kepler-train and is left as it is." in said
    assert f"{uri}/.doc/lab.md was not written by kepler-train and is left as it is" in said


def test_between_two_marks_of_a_foreign_file_there_is_a_list_and_around_them_nothing_changes(
    publishing: Publishing, tmp_path: Path
) -> None:
    uri = publishing.new()
    before, after = b"# Our machines \xff\r\n\r\n", b"\r\n## More\r\n"
    open_store(uri).write("README.md", before + f"{BEGIN}\r\n{END}".encode() + after)
    for name in ("b", "a"):
        publish(uri, name, FIRST, pipeline(tmp_path / name, name))
    written = open_store(uri).read("README.md") or b""
    assert written.startswith(before)
    assert written.endswith(END.encode() + after)
    assert written.count(b"[2 models]") == 2
    assert written.index(b"[a](.doc/a.md)") < written.index(b"[b](.doc/b.md)")


def test_a_half_of_the_marks_is_no_place_to_write(publishing: Publishing, tmp_path: Path) -> None:
    uri = publishing.new()
    open_store(uri).write("README.md", f"{END}\n{BEGIN}\nmine\n".encode())
    publish(uri, "lab", FIRST, pipeline(tmp_path / "lab", "lab"))
    assert read(uri) == f"{END}\n{BEGIN}\nmine\n"


def test_listing_again_writes_nothing(tmp_path: Path) -> None:
    uri = str(tmp_path / "models")
    publish(uri, "lab", FIRST, pipeline(tmp_path / "lab", "lab"))
    files = [tmp_path / "models/README.md", tmp_path / "models/.doc/lab.md"]
    before = [file.stat().st_mtime_ns for file in files]
    list_pipeline(uri, "lab")
    assert [file.stat().st_mtime_ns for file in files] == before


def test_a_publisher_that_was_killed_before_the_list_is_made_up_for_by_the_next(tmp_path: Path) -> None:
    uri = str(tmp_path / "models")
    for name in ("a", "b"):
        publish(uri, name, FIRST, pipeline(tmp_path / name, name))
    (tmp_path / "models/README.md").unlink()
    list_pipeline(uri, "b")
    assert [row[0] for row in rows(uri)] == ["[a](.doc/a.md)", "[b](.doc/b.md)"]


def test_a_pipeline_without_versions_is_listed_where_it_is(tmp_path: Path) -> None:
    pipeline(tmp_path / "models/mine", "mine", legacy=True)
    list_pipeline(str(tmp_path / "models"), "mine")
    assert rows(str(tmp_path / "models"))[0][6] == "[2 models](mine/README.md)"
    assert "- **Workloads:** cpu, vm-rw\n" in read(str(tmp_path / "models"), ".doc/mine.md")
    assert not list((tmp_path / "models").rglob("*.lock"))


def test_words_of_any_kind_break_neither_table_nor_comment(tmp_path: Path) -> None:
    pipeline(tmp_path / "models/mine", "mine", publisher="a | b --> <script>\n# c")
    list_pipeline(str(tmp_path / "models"), "mine")
    (row,) = rows(str(tmp_path / "models"))
    assert row[5] == r"a \| b --&gt; &lt;script&gt; # c"
    assert len(row) == len(COLUMNS)
    assert (tmp_path / "models/.doc/mine.md").read_text().splitlines()[1] == "# Pipeline mine"


@pytest.mark.parametrize("broken", ["{", "[]", '{"energy_sources": 3}', '{"energy_sources": [], "output_types": []}'])
def test_files_of_another_tool_are_not_listed(tmp_path: Path, broken: str) -> None:
    pipeline(tmp_path / "models/mine", "mine")
    (tmp_path / "models/mine/train_arguments.json").write_text(broken)
    list_pipeline(str(tmp_path / "models"), "mine")
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["mine"]


@pytest.mark.parametrize(("folder", "file"), [(0o755, 0o644), (0o750, 0o640), (0o700, 0o600)])
def test_who_may_read_the_folder_may_read_what_is_published_although_the_umask_is_strict(
    tmp_path: Path, folder: int, file: int
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    models.chmod(folder)
    before = os.umask(0o077)
    try:
        publish(str(models), "lab", FIRST, pipeline(tmp_path / "export", "lab"))
    finally:
        os.umask(before)
    work = (".scratch", ".latest.lock")
    written = [path for path in models.rglob("*") if not path.is_symlink() and path.name not in work]
    assert {path.stat().st_mode & 0o777 for path in written if path.is_dir()} == {folder}
    assert {path.stat().st_mode & 0o777 for path in written if path.is_file()} == {file}
    assert {"README.md", "lab.md", "metadata.json"} <= {path.name for path in written}


@pytest.mark.parametrize("free", [True, False])
def test_the_step_lists_what_it_publishes_and_publishes_what_it_cannot_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], free: bool
) -> None:
    exported = pipeline(tmp_path / "export/lab", "lab")
    (exported / "rapl-sysfs/AbsPower/Basic/Linear_3.zip").write_text("")
    spec = RunSpec.model_validate({"pipeline": "lab", "start": "2026-11-13T00:00:00Z", "end": "2026-11-13T02:00:00Z"})
    models = tmp_path / "w/models"
    if not free:
        models.mkdir(parents=True)
        (models / ".doc").write_text("a file where the pages should be")
    run = Run(open_store(str(tmp_path / "w")), "lab", "monday")
    figures = publish_step(Inputs(run, "", {"export": tmp_path / "export"}), spec, tmp_path)
    assert (models / "lab/latest/metadata.json").is_file()
    assert (models / "README.md").exists() == free
    warned = capsys.readouterr().out
    assert ("The list of pipelines at" in warned) == (not free)
    if free:
        assert rows(str(models))[0][6] == f"[2 models](lab/{figures['version']}/README.md)"


def test_names_and_times_of_others_break_neither_row_nor_page(tmp_path: Path) -> None:
    exported = pipeline(tmp_path / "lab", "lab")
    metadata = json.loads((exported / "metadata.json").read_text())
    (exported / "metadata.json").write_text(json.dumps(metadata | {"collect_time": "yesterday", "publisher": "<b>|x"}))
    table = exported / "rapl-sysfs_AbsPower_model_metadata.csv"
    table.write_text(table.read_text().replace("Linear_3,Basic", "Linear_3,<i>)|"))
    publish(str(tmp_path / "db"), "lab", FIRST, exported)
    assert [row[3:6] for row in rows(str(tmp_path / "db"))] == [["–", "2026-11-14 02:30 UTC", r"&lt;b&gt;\|x"]]
    page = read(str(tmp_path / "db"), ".doc/lab.md")
    assert f"../lab/{FIRST}/rapl-sysfs/AbsPower/%3Ci%3E%29%7C/Linear_3/model_card.md" in page
    assert r"| &lt;i&gt;)\| |" in page


def test_a_table_that_leads_elsewhere_is_not_listed(tmp_path: Path) -> None:
    exported = pipeline(tmp_path / "lab", "lab")
    table = exported / "rapl-sysfs_AbsPower_model_metadata.csv"
    table.write_text(table.read_text().replace("Linear_3,Basic", "Linear_3,../../.."))
    publish(str(tmp_path / "db"), "lab", FIRST, exported)
    assert read(str(tmp_path / "db")) == ""


def test_a_page_whose_row_would_end_the_list_is_not_in_it(tmp_path: Path) -> None:
    uri = str(tmp_path / "db")
    publish(uri, "lab", FIRST, pipeline(tmp_path / "lab", "lab"))
    page = read(uri, ".doc/lab.md")
    open_store(uri).write(".doc/evil.md", page.replace("| [lab]", f"{END} # Gone | [lab]").encode())
    open_store(uri).write(".doc/torn.md", page.split("\n")[0][:-10].encode())
    before = read(uri)
    list_pipeline(uri, "lab")
    assert read(uri) == before
