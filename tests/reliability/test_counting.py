"""The counters of `make reliability` see what is wrong: none of them is blind."""

from __future__ import annotations

from pathlib import Path

import pytest
from children import Place, Undisturbed
from counts import Row, table
from faults import Strike, happens_to
from killed_commands import Command, Reference, check
from killed_steps import compare
from lab import StepsOf
from s3_faults import Fault, Request

from kepler_train.workspace import Run, open_store
from kepler_train.workspace.manifest import Manifest, record_of

GOOD = {"a": "1", "b": "2"}


def kinds(row: Row) -> list[str]:
    return [kind for kind, _ in row.problems]


def test_a_missing_file_is_lost_a_new_one_half_and_a_changed_one_wrong():
    row = Row("all")
    compare("run", {"b": "3", "c": "4"}, GOOD, row)
    assert kinds(row) == ["lost results", "wrong results", "half results"]
    compare("run", dict(GOOD), GOOD, row)
    assert len(row.problems) == 3


def test_a_result_is_half_when_a_file_is_not_that_of_its_manifest_and_wrong_when_it_is_not_the_expected_one(
    tmp_path: Path,
):
    run = Run.named(open_store(str(tmp_path)), "lab/1")
    folder = tmp_path / run.folder("words")
    folder.mkdir(parents=True)
    steps = StepsOf(str(tmp_path), "lab/1", tmp_path / "spec.json")
    (folder / "a.txt").write_text("good")
    record = record_of(folder / "a.txt", folder, hashed=True)
    expected = {f"{run.folder('words')}/a.txt": record.sha256}
    assert steps.half_result("words", "", expected) == ""  # without a manifest there is no result
    assert not steps.has_result("words", "")
    manifest = Manifest(
        step="words",
        part="",
        spec_digest="",
        version="0",
        inputs=[],
        outputs=[record],
        started="2026-11-14T00:00:00Z",
        ended="2026-11-14T00:00:00Z",
        figures={},
    )
    (folder / "manifest.json").write_text(manifest.model_dump_json())
    assert steps.has_result("words", "")
    assert steps.half_result("words", "", expected) == ""
    assert steps.half_result("words", "", dict.fromkeys(expected, "")).startswith("wrong: ")
    (folder / "a.txt").write_text("go")
    assert steps.half_result("words", "", expected).startswith("half: ")


@pytest.mark.parametrize(
    ("files", "had_earlier", "killed", "said"),
    [
        ({"a": "new", "b": "new"}, True, True, []),
        ({"a": "old", "b": "old"}, True, True, []),
        ({}, False, True, []),
        ({}, True, True, ["lost results"]),
        ({"a": "new"}, False, True, ["half results"]),
        ({"a": "new", "b": "old"}, True, True, ["half results"]),
        ({"c": "foreign"}, False, True, ["wrong results"]),
        ({"a": "old", "b": "old"}, True, False, ["half results"]),  # the command did nothing when it was run again
        ({}, False, False, ["lost results"]),
    ],
)
def test_what_a_command_leaves_is_the_earlier_result_or_the_new_one(
    tmp_path: Path, files: dict[str, str], had_earlier: bool, killed: bool, said: list[str]
):
    place, command = Place.made(tmp_path / "place"), Command(lambda _: [], ["out"])
    reference = Reference(tmp_path, Undisturbed(1.0, 1))
    for word, states in (("old", reference.before), ("new", reference.after)):
        made = Place.made(tmp_path / word)
        write(made, {"a": word, "b": word})
        states.append(command.written(made)[0] if word == "old" else [command.written(made)[0]])
    write(place, files)
    row = Row("all")
    check("case", command, place, reference, row, killed=killed, had_earlier=had_earlier)
    assert kinds(row) == said


def write(place: Place, files: dict[str, str]) -> None:
    for name, word in files.items():
        (place.folder / "out").mkdir(exist_ok=True)
        (place.folder / "out" / name).write_text(word)


def test_a_fault_in_passing_strikes_one_request_and_a_lasting_one_the_same_object_again():
    requests = [Request("GET", key, False) for key in ("a", "b", "a", "b", "c")]
    for lasting, struck in ((False, [1]), (True, [1, 3])):
        strike = Strike(Fault.INTERNAL_500, 1, lasting)
        answers = [strike(request) for request in requests]
        assert [number for number, fault in enumerate(answers) if fault] == struck


def test_a_fault_of_answers_needs_an_answer():
    put, get, listing = Request("PUT", "a", False), Request("GET", "a", False), Request("GET", "", True)
    assert [happens_to(Fault.CUT_BODY, request) for request in (put, get, listing)] == [False, True, True]
    assert [happens_to(Fault.EMPTY_LISTING, request) for request in (put, get, listing)] == [False, False, True]
    assert [happens_to(Fault.RESET, request) for request in (put, get, listing)] == [True, True, True]


def test_the_table_has_a_row_for_each_and_their_sum():
    rows = [Row("folder"), Row("S3")]
    for row in rows:
        row.count("at a moment")
        row.count()
    rows[1].problem("lost results", "gone")
    assert table(rows, "kills", ["at a moment"], ["lost results"]).splitlines() == [
        "|  | kills | at a moment | lost results |",
        "|---|---:|---:|---:|",
        "| folder | 2 | 1 | 0 |",
        "| S3 | 2 | 1 | 1 |",
        "| all | 4 | 2 | 1 |",
    ]
