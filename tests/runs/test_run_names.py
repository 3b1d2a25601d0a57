"""Whatever a run or a part is called, nothing is written outside <root>/runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_steps import SPEC, STEPS
from hypothesis import example, given
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.runs.runner import run_step
from kepler_train.workspace import Run, name_of, open_store, part_of
from kepler_train.workspace.folder import FolderStore

ODD = ["", ".", "..", "...", "/", "//", "\0", "\n", "\t", " ", "~", "-", "\\", "%2e", "ä", "１", "\u202e", "\ud800"]
NAMES = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from([*ODD, "lab", "1"]), max_size=6).map("".join),
    st.lists(st.sampled_from([*ODD, "lab", "1"]), max_size=6).map("/".join),
    st.from_regex(r"[A-Za-z0-9._-]{1,12}/[A-Za-z0-9_.~:+-]{1,12}\n?"),
)


@given(NAMES)
@example("lab/1\n")
@example("lab\n/1")
@example("../x/1")
@example("/etc/passwd")
@example("lab/..")
@example("lab/1/../../..")
@example("lab/\0")
@example("a" * 101 + "/1")
@example("lab/" + "a" * 251)
def test_a_name_is_refused_or_is_exactly_one_folder_of_a_pipeline(name: str):
    root = Path("/w")
    try:
        run = Run.named(FolderStore(root), name)
    except UserError:
        return
    folder = root / run.folder("plan")
    assert run.name == name
    assert len(folder.parts) == len(("/", "w", "runs", "<pipeline>", "<run id>", "plan"))
    assert ".." not in folder.parts
    assert folder.parts[:3] == ("/", "w", "runs")
    assert name.isascii()
    assert name.isprintable()


@given(NAMES)
@example("x/1/../../../../..")
def test_a_part_is_refused_unless_the_step_has_it(name: str):
    run = Run.named(FolderStore(Path("/nowhere/to/be/seen")), "lab/1")
    with pytest.raises(UserError) as refused:  # a known part is refused too: there are no words yet
        run_step(STEPS["piece"], STEPS, run, SPEC, part=name)
    assert ("run it first" in str(refused.value)) == (name in ("x/1", "x/2", "y/1"))
    assert not Path("/nowhere").exists()


@given(NAMES.filter(bool))
@example("..")
@example("10.0.0.1:9102")
@example("a/../../b")
@example("{{ params }} $(HOME)")
def test_any_name_is_one_folder_below_its_step_and_can_be_told_again(name: str):
    part = part_of(name)
    folder = Path("/w") / Run.named(FolderStore(Path("/w")), "lab/1").folder("extract", part)
    assert name_of(part) == name
    assert folder.parts == ("/", "w", "runs", "lab", "1", "extract", part)
    assert part not in (".", "..")
    assert not set(part) & set("/{}$ ")


def test_plain_names_are_called_as_they_are():
    for name in ("worker-3", "ip-10-0-0-7.eu-central-1.compute.internal", "10.0.0.1:9102", "node_1"):
        assert part_of(name) == name


def test_airflows_own_run_ids_are_names(tmp_path: Path):
    store = FolderStore(tmp_path)
    for run_id in (
        "manual__2026-11-14T02:00:00+00:00",
        "scheduled__2026-11-14T02:00:00+00:00",
        "backfill__2026-11-14T02:00:00+00:00",
        "manual__2026-11-14T02:00:00.123456+00:00_aB3~x",
    ):
        run_step(STEPS["words"], STEPS, Run.named(store, f"lab/{run_id}"), SPEC)
        assert (tmp_path / "runs" / "lab" / run_id / "words" / "manifest.json").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".scratch", "runs"]


@pytest.mark.parametrize("uri", ["", "http://x/y", "s3://", "s3:///prefix", "//[", "~nobody-of-this-name/x", "ftp:x"])
def test_an_address_that_is_no_workspace_is_one_sentence(uri: str):
    with pytest.raises(UserError) as refused:
        open_store(uri)
    assert repr(uri) in str(refused.value)


def test_a_folder_may_be_given_as_a_file_address_or_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_store(f"file://{tmp_path}/w").uri == f"{tmp_path}/w"
    assert open_store("~/w").uri == f"{tmp_path}/w"
    monkeypatch.chdir(tmp_path)
    assert open_store("w").uri == f"{tmp_path}/w"
