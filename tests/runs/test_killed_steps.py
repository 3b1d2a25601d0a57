"""A step that is killed leaves nothing that the next one takes for a result."""

from __future__ import annotations

from collections import Counter

import fake_steps
import pytest
from fake_steps import FILES, SPEC, STEPS
from killing import Arm, ended, in_a_child, killed_at_each_point
from places import Place

from kepler_train.errors import UserError
from kepler_train.runs.runner import run_step
from kepler_train.workspace import FileStore, Run


def do(store: FileStore, step: str, run: str = "lab/1", force: bool = False) -> str:
    return str(run_step(STEPS[step], STEPS, Run.named(store, run), SPEC, force=force).figures["word"])


def what_the_next_step_finds(store: FileStore) -> str:
    try:
        return do(store, "count")  # fails when it is given a mixed result
    except UserError as error:
        return "refused" if "has no result of the step words: run it first" in str(error) else str(error)


def test_killed_at_any_point_the_old_result_stands_or_there_is_none_or_the_new_one_is_whole(place: Place):
    uris: list[str] = []

    def redo_with_new_words(k: int):
        uris.append(place.new())
        fake_steps.WORD[0] = "old"
        do(place.store(uris[-1]), "words")
        fake_steps.WORD[0] = "new"
        return lambda count: do(place.counted(uris[-1], count), "words", force=True)

    seen: list[str] = []
    for _ in killed_at_each_point(redo_with_new_words):
        store = place.store(uris[-1])
        seen.append(what_the_next_step_finds(store))
        do(store, "words", force=seen[-1] == "old")
        assert do(store, "count") == "new"
        assert place.scratch_left(uris[-1]) == []
        folder = Run.named(store, "lab/1").folder("words")
        assert set(store.sizes(folder)) == {f"{folder}/{name}" for name in [*FILES["new"], "manifest.json"]}

    order = list(dict.fromkeys(seen))
    assert order == ["old", "refused", "new"], Counter(seen)
    # S3: 1 delete, 1 listing, 1 stale file, 3 uploads and the manifest are 7 requests. A folder has many more points.
    assert len(seen) == 8 if place.kind == "s3" else len(seen) > 30


def test_killed_in_its_first_life_a_step_has_no_result_until_it_is_whole(place: Place):
    uris: list[str] = []

    def first(k: int):
        uris.append(place.new())
        return lambda count: do(place.counted(uris[-1], count), "words")

    seen = []
    for _ in killed_at_each_point(first):
        seen.append(what_the_next_step_finds(place.store(uris[-1])))
    assert list(dict.fromkeys(seen)) == ["refused", "old"]


def test_killed_while_it_reads_a_step_leaves_its_input_as_it_was(place: Place):
    uris: list[str] = []

    def reading(k: int):
        uris.append(place.new())
        do(place.store(uris[-1]), "words")
        return lambda count: do(place.counted(uris[-1], count), "count")

    for _ in killed_at_each_point(reading):
        store = place.store(uris[-1])
        assert do(store, "count") == "old"
        assert place.scratch_left(uris[-1]) == []


def test_a_step_at_work_keeps_its_scratch_while_others_sweep(place: Place):
    store = place.store(place.new())
    with store.scratch() as mine:
        (mine / "file").write_text("at work")
        for _ in range(3):
            assert ended(in_a_child(lambda: do(store, "words", force=True))) == 0
        assert (mine / "file").read_text() == "at work"
    assert not mine.exists()


def test_many_scratch_folders_at_once_are_made_and_swept_without_harm(place: Place):
    if place.kind == "s3":
        pytest.skip("the same code as on a folder")
    uri = place.new()

    def churn(count: Arm | None = None) -> None:
        store = place.store(uri)
        for _ in range(100):
            with store.scratch() as mine:
                assert list(mine.iterdir()) == []
                (mine / "file").write_text("mine")
                assert (mine / "file").read_text() == "mine"

    children = [in_a_child(churn) for _ in range(4)]
    assert [ended(pid) for pid in children] == [0, 0, 0, 0]
    assert place.scratch_left(uri) == []
