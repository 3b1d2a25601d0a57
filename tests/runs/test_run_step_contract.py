"""When a step is done, when its result stands, and what it refuses to read."""

from __future__ import annotations

from pathlib import Path

import fake_steps
import pytest
from fake_steps import CALLS, OTHER_SPEC, SPEC, STEPS
from places import Do, Place

from kepler_train import __version__
from kepler_train.errors import DataError, UserError
from kepler_train.runs.request import Request
from kepler_train.runs.runner import run_step
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, FileStore, Inputs, Run, failure_reasons


def test_the_manifest_names_every_file_with_its_size_and_hash(do: Do):
    done = do("words")
    assert [(record.path, record.size) for record in done.outputs] == [
        ("a.txt", len("old in a.txt\n")),
        ("b/c.txt", len("old in b/c.txt\n")),
        ("gone.txt", len("old in gone.txt\n")),
    ]
    # printf 'old in a.txt\n' | sha256sum
    assert done.outputs[0].sha256 == "27e8d7c3c9476aa17a7ab0670e350ca7a5a6dec9746e9f1e1ee70b530bafcbab"
    assert (done.status, done.version, done.spec_digest) == ("done", __version__, SPEC.digest())
    read = do("count")
    assert [(record.step, record.path, record.sha256) for record in read.inputs] == [
        ("words", record.path, record.sha256) for record in done.outputs
    ]


def test_a_step_with_nothing_changed_returns_at_once_and_says_so(do: Do, capsys: pytest.CaptureFixture[str]):
    first = do("words"), do("count")
    CALLS.clear()
    capsys.readouterr()
    assert (do("words"), do("count")) == first
    assert CALLS == []
    said = capsys.readouterr().out.splitlines()
    assert [line.split(" since ")[0] for line in said] == ["words: nothing has changed", "count: nothing has changed"]
    assert all(line.endswith("UTC; its result stands.") for line in said)


def test_it_is_done_again_for_another_spec_a_changed_input_another_version_and_on_demand(
    do: Do, monkeypatch: pytest.MonkeyPatch
):
    do("words"), do("count")
    CALLS.clear()
    do("words", spec=OTHER_SPEC), do("words")
    assert CALLS == ["words", "words"]  # for the other spec, and back
    assert do("count").figures["word"] == "old"
    assert CALLS == ["words", "words"]  # the words are the same as before, so the count stands
    fake_steps.WORD[0] = "new"
    do("words", force=True)
    assert do("count").figures["word"] == "new"
    assert CALLS[2:] == ["words", "count"]
    monkeypatch.setattr("kepler_train.runs.runner.__version__", "99.0")
    do("words"), do("count")
    assert CALLS[4:] == ["words", "count"]
    do("count")
    assert len(CALLS) == 6


def test_a_step_that_reads_more_than_its_inputs_is_always_done(do: Do):
    do("always"), do("always")
    assert CALLS == ["words", "words"]


def test_what_is_outside_is_collected_again_for_each_request_and_not_for_its_retries(
    do: Do, capsys: pytest.CaptureFixture[str]
):
    do("collect"), do("collect")
    assert CALLS == ["words"] * 2  # two people at two command lines
    do("collect", request=Request("first")), do("collect", request=Request("first"))
    assert CALLS == ["words"] * 3  # a task, and its retry after its worker was killed
    assert "collect: an earlier try of the same task had done it at " in capsys.readouterr().out
    fake_steps.WORD[0] = "new"
    assert do("collect", request=Request("second")).figures["word"] == "new"  # the task was cleared
    assert CALLS == ["words"] * 4
    assert "nothing has changed" not in capsys.readouterr().out


def test_what_was_collected_is_taken_again_when_somebody_says_so(do: Do, capsys: pytest.CaptureFixture[str]):
    first = do("collect", request=Request("first"))
    assert do("collect", request=Request("second", reuse=True)) == first
    assert capsys.readouterr().out.endswith("UTC is taken, as the parameter reuse asks; nothing was collected again.\n")
    do("collect", request=Request("third", reuse=True), spec=OTHER_SPEC)  # asked for something else
    do("hand over"), do("hand over", request=Request("second", reuse=True))
    assert CALLS == ["words"] * 4


def test_an_input_changed_behind_our_back_is_noticed_by_its_hash_and_running_the_step_again_helps(
    do: Do, store: FileStore
):
    do("words")
    store.write("runs/lab/1/words/a.txt", b"odd in a.txt\n")  # of the same size
    with pytest.raises(UserError, match=r"words/a\.txt is not what the step words wrote.*run that step again"):
        do("count")
    CALLS.clear()
    do("words")
    assert CALLS == ["words"]
    assert do("count").figures == {"files": 3, "word": "old"}


def test_a_removed_input_is_noticed_and_running_the_step_again_helps(do: Do, store: FileStore):
    do("words")
    store.delete("runs/lab/1/words/b/c.txt")
    with pytest.raises(UserError, match=r"words/b/c\.txt is not what the step words wrote.*changed or removed"):
        do("count")
    do("words")
    assert do("count").figures == {"files": 3, "word": "old"}


def test_files_that_no_manifest_names_are_no_input(do: Do, store: FileStore):
    do("words")
    store.write("runs/lab/1/words/left.txt", b"half a fi")
    assert do("count").figures == {"files": 3, "word": "old"}
    do("words", force=True)
    assert "runs/lab/1/words/left.txt" not in store.sizes("runs/lab/1/words")


def test_no_result_and_a_result_of_another_spec_are_refused(do: Do):
    with pytest.raises(UserError, match="The run lab/1 has no result of the step words: run it first"):
        do("count")
    do("words", spec=OTHER_SPEC)
    with pytest.raises(UserError, match="The step words of the run lab/1 was done with another spec: run it again"):
        do("count")
    assert "count" not in CALLS


def test_a_result_older_than_what_it_read_is_refused_however_far_up_the_change_is(do: Do):
    do("words"), do("count"), do("last")
    fake_steps.WORD[0] = "new"
    do("words", force=True)
    with pytest.raises(UserError, match="The step count of the run lab/1 is older than the words it read"):
        do("last")
    do("count"), do("last"), do("piece", "x/1"), do("gather")
    fake_steps.WORD[0] = "old"
    do("words", force=True)
    with pytest.raises(DataError):
        do("gather")


def test_a_manifest_that_cannot_be_read_is_said_so_and_force_replaces_it(do: Do, store: FileStore):
    do("words")
    store.write("runs/lab/1/words/manifest.json", b'{"schema_version": 1, "step": "wor')
    for step in ("words", "count"):
        with pytest.raises(UserError, match=r"words/manifest\.json is not a manifest of this version: remove it"):
            do(step)
    do("words", force=True)
    assert do("count").figures["files"] == 3


def test_a_gathering_step_takes_parts_of_this_spec_and_input_and_warns_of_the_others(
    do: Do, store: FileStore, capsys: pytest.CaptureFixture[str]
):
    do("words", spec=OTHER_SPEC), do("piece", "x/2", spec=OTHER_SPEC)
    do("words")
    with pytest.raises(DataError, match="None of the 3 parts of the step piece of the run lab/1 has a result") as none:
        do("gather")
    assert none.value.exit_code == 3
    do("piece", "x/1")
    capsys.readouterr()
    assert do("gather").figures == {"parts": "x/1"}
    assert capsys.readouterr().out.startswith(
        "warning: gather: 2 of 3 parts of piece have no result: x/2, y/1.\ngather: done in "
    )
    do("piece", "x/2"), do("piece", "y/1")
    assert do("gather").figures == {"parts": "x/1,x/2,y/1"}
    fake_steps.WORD[0] = "new"
    do("words", force=True), do("piece", "y/1")
    capsys.readouterr()
    assert do("gather").figures == {"parts": "y/1"}  # the others were made of old words
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "warning: The step piece x/1 of the run lab/1 is older than the words it read: run it again."
    assert said[2] == "warning: gather: 2 of 3 parts of piece have no result: x/1, x/2."
    assert store.read("runs/lab/1/gather/all.txt") == b"y/1 of new in a.txt\n"


def test_a_result_that_lacks_a_part_that_came_later_is_refused_until_it_is_made_anew(do: Do):
    do("words"), do("piece", "x/1"), do("gather")
    assert do("read_all").figures == {"pieces": 1}
    do("piece", "y/1")
    with pytest.raises(UserError, match="The step gather of the run lab/1 lacks piece y/1: run it again"):
        do("read_all")
    do("gather")
    assert do("read_all").figures == {"pieces": 2}


def test_a_part_that_is_not_there_is_one_sentence_and_does_nothing(do: Do, store: FileStore):
    do("words")
    for part in ("x/3", "", "../x/1", "/x/1", "x"):
        with pytest.raises(UserError, match=r"There is no part of the step piece .*Known: x/1, x/2, y/1"):
            do("piece", part)
    with pytest.raises(UserError, match="The step words has no parts"):
        do("words", "x/1")
    assert CALLS == ["words"]
    assert all(key.startswith("runs/lab/1/words/") for key in store.sizes("runs"))


def test_a_full_disk_is_one_sentence_and_leaves_no_result(do: Do, place: Place, store: FileStore):
    with pytest.raises(UserError, match=r"The disk is full at .*big\.parquet: make room for .* the step full"):
        do("full")
    assert store.sizes("runs") == {}
    assert place.scratch_left(store.uri) == []


def test_a_step_that_fails_leaves_the_old_result_as_it_was(do: Do, store: FileStore, monkeypatch: pytest.MonkeyPatch):
    do("words")
    before = {key: store.read(key) for key in store.sizes("runs")}
    monkeypatch.setattr(fake_steps, "WORD", ["unheard of"])  # a KeyError in the step
    with pytest.raises(KeyError):
        run_step(STEPS["words"], STEPS, Run.named(store, "lab/1"), SPEC, force=True)
    assert {key: store.read(key) for key in store.sizes("runs")} == before


def test_why_a_part_failed_is_known_until_it_is_done(do: Do, store: FileStore, monkeypatch: pytest.MonkeyPatch):
    run, parts = Run.named(store, "lab/1"), ["x/1", "x/2", "y/1"]
    do("words")
    for part, error in (("x/1", DataError("9 rows are too few.")), ("x/2", ZeroDivisionError("division by zero"))):

        def broken(inputs: Inputs, spec: RunSpec, out: Path, error: Exception = error) -> Figures:
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(fake_steps, "piece", broken)
            with pytest.raises(type(error)):
                do("piece", part)
    assert failure_reasons(run, "piece", parts, SPEC) == {
        "x/1": "9 rows are too few.",
        "x/2": "It met a bug, ZeroDivisionError: please report it with the log of its task.",
    }
    assert failure_reasons(run, "piece", parts, OTHER_SPEC) == {}
    with pytest.raises(DataError, match="None of the 3 parts"):
        do("gather")  # a reason is no result
    do("piece", "x/1")
    assert list(failure_reasons(run, "piece", parts, SPEC)) == ["x/2"]
