"""`kepler-train models` on a folder: what people see, and what programs read. Buckets: tests/publish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from published_pipelines import published

from kepler_train.cli import main
from kepler_train.publish.target import open_target


class Models:
    """A folder of models, and the command on it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.capsys, self.monkeypatch = folder, capsys, monkeypatch
        self.target = open_target(str(folder / "models"))

    def publish(self, night: int, name: str = "lab", mae: float = 2.5, **arguments: object) -> str:
        return published(self.target, self.folder / "work", name, night, mae, **arguments).record.version

    def __call__(self, *words: str) -> tuple[int, str]:
        """The exit code, and what was printed or said."""
        self.monkeypatch.setattr("sys.argv", ["kepler-train", "models", *words])
        self.capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        said = self.capsys.readouterr()
        return code, said.out + said.err

    def json(self, *words: str) -> dict[str, object]:
        code, said = self(*words, "--format", "json")
        assert code == 0, said
        return json.loads(said)


@pytest.fixture
def models(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Models:
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setenv("MODEL_PATH", str(tmp_path / "models"))
    return Models(tmp_path, capsys, monkeypatch)


def test_a_list_has_every_pipeline_with_the_error_of_its_latest_version(models: Models) -> None:
    models.publish(1, "a", mae=1.25)
    latest = models.publish(2, "b", mae=2.5)
    code, said = models("list")
    header, first, second, count = said.splitlines()
    assert code == 0
    assert header.split()[:3] == ["pipeline", "latest", "versions"]
    assert "rapl-sysfs/AbsPower 1.25 W (4.2 %)" in first
    assert second.split()[:3] == ["b", latest, "1"]
    assert count == f"2 pipelines at {models.folder}/models."
    assert models.json("list")["pipelines"]["b"]["latest"] == latest


def test_show_has_the_versions_newest_first_and_all_that_is_known_of_one(models: Models) -> None:
    older, newer = models.publish(1), models.publish(2)
    said = models("show", "lab")[1]
    assert [line.split()[0] for line in said.splitlines()] == ["version", newer, older]
    assert "2026-11-02 00:00 – 2026-11-02 02:00" in said.splitlines()[1]
    assert said.splitlines()[1].endswith("latest")
    one = models.json("show", "lab", "20261101")
    assert (one["version"], one["latest"], one["place"]) == (older, False, f"{models.folder}/models/lab/{older}")
    assert one["errors"]["rapl-sysfs/AbsPower"]["mae"] == 2.5
    assert "best model" in models("show", "lab", newer)[1]


def test_a_diff_shows_errors_data_and_settings_side_by_side(models: Models) -> None:
    models.publish(1, mae=2.0, seed=1)
    models.publish(2, mae=3.0, seed=2)
    code, said = models("diff", "lab", "20261101", "20261102")
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert code == 0
    assert "errors rapl-sysfs/AbsPower MAE (W) 2.0 3.0 +50.0 %" in lines
    assert "settings seed 1 2 +100.0 %" in lines
    assert not [line for line in lines if line.startswith("features")]  # they are the same
    found = models.json("diff", "lab", "20261101", "20261102", "--all")
    assert found["features"] == {"rapl-sysfs/AbsPower": [["bpf_cpu_time_ms"], ["bpf_cpu_time_ms"]]}
    assert found["data"]["machine_id"] == ["m5", "m5"]
    same = models("diff", "lab", "20261101", "20261101")[1]
    assert same.endswith("have the same errors, data, features and settings.\n")


def test_rollback_goes_to_the_version_before_and_the_bad_one_does_not_come_back(models: Models) -> None:
    first, second, third = (models.publish(night) for night in (1, 2, 3))
    assert models("rollback", "lab") == (
        0,
        f"latest of lab at {models.folder}/models is {second}: rolled back from {third}.\n",
    )
    assert models.publish(3) == third  # a task that is cleared, or retried
    assert models.target.latest("lab") == second
    assert models("rollback", "lab")[0] == 0
    assert models.target.latest("lab") == first
    code, said = models("rollback", "lab")
    assert (code, said) == (
        2,
        f"error: lab at {models.folder}/models has no version before {first}: there is none to go to.\n",
    )
    assert models("rollback", "lab", "--to", third)[0] == 0
    assert models.target.latest("lab") == third
    moves = json.loads((models.folder / "models/lab/versions.json").read_text())["moves"]
    assert [move["version"] for move in moves] == [second, first, third]
    assert models.json("list")["pipelines"]["lab"]["latest"] == third


def test_a_pin_holds_latest_until_it_ends(models: Models) -> None:
    first, second = models.publish(1), models.publish(2)
    assert models("pin", "lab", "20261101")[0] == 0
    third = models.publish(3)
    assert models.target.latest("lab") == first
    record = models.json("show", "lab", third)
    assert (record["promoted"], record["reason"]) == (
        False,
        f"A pin holds latest at {first}: `kepler-train models unpin` ends that.",
    )
    assert "pinned" in models("list")[1]
    assert models("rollback", "lab")[0] == 2
    assert models("unpin", "lab")[0] == 0
    assert models.target.latest("lab") == first
    assert models("unpin", "lab")[0] == 2
    fourth = models.publish(4)
    assert models.target.latest("lab") == fourth
    assert second in models("show", "lab")[1]


def test_prune_says_what_it_removes_and_can_only_say_it(models: Models) -> None:
    names = [models.publish(night) for night in range(1, 6)]
    would = models("prune", "lab", "--keep", "3", "--dry-run")[1]
    assert would.splitlines()[:2] == [f"Would remove lab/{name}." for name in names[:2]]
    assert models("prune", "lab", "--keep", "3")[1].splitlines() == [
        *(f"Removed lab/{name}." for name in names[:2]),
        f"3 versions of lab at {models.folder}/models are kept.",
    ]
    assert models("prune", "lab", "--keep", "2")[0] == 2


def test_pull_writes_a_copy_that_was_verified(models: Models) -> None:
    version = models.publish(1)
    place = models.folder / "mine" / "lab"
    code, said = models("pull", "lab", "-o", str(place))
    assert said.startswith(f"Wrote {place}: {version}, 6 files, ")
    assert said.endswith("check sums right, not signed.\n")
    assert code == 0
    (place / "metadata.json").write_text('{"name": "lab"}')  # a copy of one's own
    assert models("verify", "lab")[0] == 0
    assert models("pull", "lab", "-o", str(place))[0] == 0  # takes the place of an earlier one
    assert "isolator" in (place / "metadata.json").read_text()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda home: (home / "metadata.json").write_text("{}"), "metadata.json was changed"),
        (lambda home: (home / "train_arguments.json").unlink(), "train_arguments.json is missing"),
        (lambda home: (home / "more").write_text(""), "more was added to it"),
        (lambda home: (home / "SHA256SUMS").write_text(f"{'0' * 64}  metadata.json\n"), "SHA256SUMS was changed"),
        (lambda home: (home / "SHA256SUMS").write_text("evil"), "is not a list of check sums"),
        (lambda home: (home / "SHA256SUMS").unlink(), "its files are not those that it is named for"),
    ],
)
def test_a_changed_byte_is_refused_and_nothing_is_written(models: Models, change: object, words: str) -> None:
    version = models.publish(1)
    change(models.folder / "models" / "lab" / version)
    for command in (("pull", "lab", "-o", str(models.folder / "out")), ("verify", "lab"), ("verify", "lab", "--all")):
        code, said = models(*command)
        assert code == 2
        assert said.startswith("error: ")
        assert words in said
    assert not (models.folder / "out").exists()


@pytest.mark.parametrize("name", ["../../etc", "..", "a/b", "/etc", "latest/..", "a\nb", ""])
def test_names_that_escape_a_folder_are_refused(models: Models, name: str) -> None:
    models.publish(1)
    for command in (("show", name), ("pull", name), ("rollback", "lab", "--to", name or "."), ("diff", "lab", name)):
        code, said = models(*command)
        assert code == 2
        assert "is not the name of a" in said
        assert len(said.splitlines()) == 1


def test_unknown_names_are_one_sentence(models: Models) -> None:
    first = models.publish(1)
    models.publish(2)
    assert models("show", "lap") == (
        2,
        f"error: There is no pipeline at {models.folder}/models 'lap': did you mean 'lab'? Known: lab.\n",
    )
    code, said = models("pull", "lab", "202611")
    assert (code, "is the beginning of 2 versions of lab" in said) == (2, True)
    code, said = models("pin", "lab", "20261201")
    assert (code, first in said) == (2, True)
    assert models("list", "-t", "s3://")[0] == 2


def test_an_empty_place_says_where_it_looked(models: Models) -> None:
    assert models("list") == (0, f"0 pipelines at {models.folder}/models.\n")
    code, said = models("show", "lab")
    assert (code, f"There is no pipeline 'lab' at {models.folder}/models, nor any other" in said) == (2, True)


def test_the_target_is_where_other_commands_find_models(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    models.publish(1)
    monkeypatch.delenv("MODEL_PATH")
    monkeypatch.setenv("KEPLER_TRAIN_HOME", str(models.folder / "none"))
    monkeypatch.chdir(models.folder)
    assert "1 pipelines at" in models("list")[1]
    monkeypatch.chdir("/")
    assert "0 pipelines at /models." in models("list")[1]
    monkeypatch.setenv("KEPLER_TRAIN_WORKSPACE", str(models.folder))
    assert f"1 pipelines at {models.folder}/models." in models("list")[1]
