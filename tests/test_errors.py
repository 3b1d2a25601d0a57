"""Every foreseen failure is one sentence and an exit code that tells who has to act."""

from __future__ import annotations

import pytest

from kepler_train.errors import DataError, KeplerTrainError, TryAgain, UserError, unknown_name


@pytest.mark.parametrize(("kind", "code"), [(UserError, 2), (DataError, 3), (TryAgain, 75)])
def test_the_exit_code_says_who_acts(kind: type[KeplerTrainError], code: int):
    assert kind("A sentence.").exit_code == code
    assert str(kind("A sentence.")) == "A sentence."


def test_an_unknown_name_comes_with_the_nearest_known_one_whatever_its_case():
    assert unknown_name("step", "Extrct", ["query", "extract"]) == (
        "There is no step 'Extrct': did you mean 'extract'? Known: query, extract."
    )


def test_a_name_like_no_other_has_no_hint_but_the_list():
    assert unknown_name("step", "zzz", ["query", "extract"]) == "There is no step 'zzz'. Known: query, extract."


def test_more_than_twenty_five_names_are_not_listed():
    known = [f"name{i}" for i in range(26)]
    assert unknown_name("step", "name3x", known) == "There is no step 'name3x': did you mean 'name3'?"
    assert unknown_name("step", "zzz", known[:15]).endswith(f"Known: {', '.join(known[:15])}.")


def test_a_name_with_line_breaks_stays_on_one_line():
    assert len(unknown_name("step", "a\nb\x85c", ["query"]).splitlines()) == 1


def test_a_sentence_stays_on_one_line_and_printable_whatever_it_repeats():
    assert str(UserError("Node a\r\nb is unknown.")) == "Node a  b is unknown."
    assert str(UserError("Node \x1b[2J\0\ud800\u202e is unknown.")) == r"Node \x1b[2J\x00\ud800\u202e is unknown."
    assert str(UserError("Größe „5 °C“ fehlt … — ≤ 1")) == "Größe „5 °C“ fehlt … — ≤ 1"


def test_an_endless_sentence_keeps_its_beginning_and_its_end():
    sentence = str(DataError(f"The node {'n' * 100_000} is unknown: choose another."))
    assert len(sentence) == 1500
    assert sentence.startswith("The node nnn")
    assert " … " in sentence
    assert sentence.endswith("nnn is unknown: choose another.")
