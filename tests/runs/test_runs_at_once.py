"""Runs at once, even of the same step, never mix."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import fake_steps
import pytest
from fake_steps import SPEC, STEPS
from killing import ended, in_a_child
from places import Place

from kepler_train.errors import UserError
from kepler_train.runs.runner import run_step
from kepler_train.workspace import FileStore, Run
from kepler_train.workspace.folder import FolderStore


def do(store: FileStore, step: str, run: str = "lab/1", word: str = "old", force: bool = False) -> str:
    fake_steps.WORD[0] = word
    return str(run_step(STEPS[step], STEPS, Run.named(store, run), SPEC, force=force).figures["word"])


def test_runs_of_one_pipeline_in_parallel_each_have_their_own_words(place: Place):
    uri = place.new()

    def whole_run(run: str, word: str) -> None:
        store = place.store(uri)
        for _ in range(3):
            assert do(store, "words", run, word, force=True) == word
            assert do(store, "count", run, word) == word

    wanted = {"lab/1": "old", "lab/2": "new", "lab/11": "two", "other/1": "new"}
    children = [in_a_child(lambda run=run, word=word: whole_run(run, word)) for run, word in wanted.items()]
    assert [ended(pid) for pid in children] == [0] * 4
    store = place.store(uri)
    assert {run: do(store, "count", run) for run in wanted} == wanted


def test_the_same_step_twice_at_once_is_whole_or_refused_and_running_it_again_helps(place: Place):
    uri = place.new()
    store = place.store(uri)

    def again(word: str) -> None:
        mine = place.store(uri)
        for _ in range(3):
            with suppress(UserError):  # overtaken by the other
                do(mine, "words", word=word, force=True)

    children = [in_a_child(lambda word=word: again(word)) for word in ("old", "new")]
    assert [ended(pid) for pid in children] == [0, 0]
    with suppress(UserError):
        do(store, "count")  # fails when it is given a mixed result
    do(store, "words", word="new")
    assert do(store, "count") in ("old", "new")


class Overtaken(FolderStore):
    """A store in which something else happens just before its k-th operation."""

    def __init__(self, root: Path, k: int, meanwhile: Callable[[], Any]) -> None:
        super().__init__(root)
        self.left, self.meanwhile = k, meanwhile

    def _operation(self) -> None:
        self.left -= 1
        if self.left == -1:
            self.meanwhile()

    def upload(self, file: Path, key: str) -> None:
        self._operation()
        super().upload(file, key)

    def download(self, key: str, folder: Path) -> Path:
        self._operation()
        return super().download(key, folder)

    def sizes(self, prefix: str, recheck: bool = True) -> dict[str, int]:
        self._operation()
        return super().sizes(prefix, recheck)

    def delete(self, key: str) -> None:
        self._operation()
        super().delete(key)


@pytest.mark.parametrize("k", range(8))
def test_overtaken_by_itself_at_any_point_a_step_is_whole_or_refused_and_running_it_again_helps(tmp_path: Path, k: int):
    do(FolderStore(tmp_path), "words", word="two")
    overtaken = Overtaken(tmp_path, k, lambda: do(FolderStore(tmp_path), "words", word="new", force=True))
    fake_steps.WORD[0] = "old"
    with suppress(UserError):
        do(overtaken, "words", word="old", force=True)
    store = FolderStore(tmp_path)
    refused = ""
    try:
        assert do(store, "count") in ("old", "new")
    except UserError as error:
        refused = str(error)
    if refused:
        assert "run that step again" in refused
        fake_steps.CALLS.clear()
        do(store, "words", word="old")
        assert fake_steps.CALLS == ["words"]  # it does not say that nothing has changed
        assert do(store, "count") == "old"


def test_changes_of_one_small_file_at_once_are_all_made(place: Place):
    uri = place.new()

    def count() -> None:
        store = place.store(uri)
        for _ in range(10):
            store.update("profiles/count", lambda before: str(int(before or b"0") + 1).encode())

    assert [ended(pid) for pid in [in_a_child(count) for _ in range(4)]] == [0] * 4
    store = place.store(uri)
    store.update("profiles/count", lambda _: None)  # leaves it as it is
    assert store.read("profiles/count") == b"40"
    assert list(store.sizes("profiles")) == ["profiles/count"] or place.kind == "folder"
