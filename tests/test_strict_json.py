"""JSON from outside: what other readers accept with a loss, or fall over, is refused in one sentence."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.records import Record, read_record
from kepler_train.strict_json import DEEPEST, NotStrict, check_nesting, name_problem, parse, read, shown

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=20,
)


@given(_values, st.booleans())
def test_what_python_writes_is_read_as_it_was(value: Any, escaped: bool):
    text = json.dumps(value, ensure_ascii=escaped)
    assert parse(text) == parse(text.encode()) == value


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:\\u0d8eE+-19nulNa ', max_size=40).map(str.encode))
def test_any_bytes_are_read_as_other_readers_do_or_refused(text: bytes):
    try:
        content = parse(text)
    except NotStrict:
        return
    assert content == json.loads(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ('{"a": 1', "Expecting ',' delimiter"),
        ("[1] [2]", "Extra data"),
        (b"\xff", "it is not text in UTF-8"),
        ("[1]".encode("utf-16"), "it is not text in UTF-8"),
        ('["\ud800"]', "it is not text in UTF-8"),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' is there twice"),
        ("[NaN]", "NaN is not a number of JSON"),
        ("[1, -Infinity]", "-Infinity is not a number of JSON"),
        ("[1e999]", "a number is beyond float64"),
        ("-1e999", "a number is beyond float64"),
        ("1" + 400 * "0", "a number is beyond float64"),
        ('["x", -1' + 400 * "0" + "]", "a number is beyond float64"),
        (5000 * "9", "a number is beyond float64"),
        ('{"a": [1, {"b": [2, 1' + 309 * "0" + ", -1" + 309 * "0" + "]}]}", "a number is beyond float64"),
        ('{"a": 1' + 308 * "0" + ', "b": [1e999, -1e999]}', "a number is beyond float64"),
        ("1" + 400 * "0" + 33 * "[", "Extra data"),
        ("[1" + 308 * "0" + "," + 32 * "[" + 32 * "]" + "]", "lists and objects are nested more than 32 deep"),
        (33 * "[" + 33 * "]", "lists and objects are nested more than 32 deep"),
        (100_000 * "[", "lists and objects are nested more than 32 deep"),
        (100_000 * '{"a":', "lists and objects are nested more than 32 deep"),
        (r'{"a": "\ud800"}', r"the text '\ud800' has half a character"),
        (r'{"\udfff": 1}', r"the text '\udfff' has half a character"),
        (r'["a\u0000b"]', r"the text 'a\x00b' has a NUL character"),
    ],
)
def test_what_is_not_strict_is_refused_with_its_reason(text: str | bytes, reason: str):
    with pytest.raises(UserError) as refused:
        read(text, "model/metadata.json")
    assert str(refused.value).startswith("model/metadata.json is cut short or not JSON: ")
    assert reason in str(refused.value)


def test_what_only_looks_alike_is_read():
    assert parse(r'["\\ud800", "\\u0000", "\ud83d\ude00"]') == ["\\ud800", "\\u0000", "\U0001f600"]
    assert parse(b"\xef\xbb\xbf[1]") == [1]  # a byte order mark of an editor
    assert parse("1" + 300 * "0") == 10**300
    assert parse("[-1.7976931348623157e308]") == [-1.7976931348623157e308]
    assert parse("[1e308, 1e308]") == [1e308, 1e308]  # whose sum is infinite
    assert parse(f"[{17 * 10**307}, {17 * 10**307}]") == [17 * 10**307] * 2
    assert parse(DEEPEST * "[" + DEEPEST * "]")
    assert parse(r'["\u0000"]', nul=True) == ["\0"]


def test_sizes_are_refused_before_anything_is_read():
    assert parse("[1,2,3]", most_bytes=7, most_values=3) == [1, 2, 3]
    with pytest.raises(NotStrict, match="it is larger than 6 bytes"):
        parse("[1,2,3]", most_bytes=6)
    with pytest.raises(NotStrict, match="it holds more than 2 values"):
        parse("[1,2,3", most_values=2)
    with pytest.raises(NotStrict, match="it holds more than 3 values"):
        parse('{"a":1}', most_values=3)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cpu_cycles@-1", None),
        ("Größe", None),
        ("", "a name is empty"),
        (3, "3 is no text"),
        ([], "a list is no text"),
        (5000 * "n", f"the name '{60 * 'n'}'… has 5,000 characters, more than 253"),
        ("a\0b", r"the name 'a\x00b' has characters that cannot be printed"),
        ("s3://KEY:SECRET@bucket", "the name 's3://'… is an address"),
        ("a\nb", r"the name 'a\nb' has characters that cannot be printed"),
        ("\ud800", r"the name '\ud800' has characters that cannot be printed"),
    ],
)
def test_a_name_is_printable_and_neither_empty_nor_endless(name: object, problem: str | None):
    assert name_problem(name) == problem


@given(st.text() | st.integers() | st.floats() | st.none())
def test_whatever_is_shown_is_short_and_on_one_line(value: object):
    assert shown(value).isprintable()
    assert len(shown(value)) < 800


class _Figures(Record):
    mae: float


def test_a_record_is_read_strictly():
    assert read_record(_Figures, b'{"mae": 1.5}', "evaluation.json").mae == 1.5
    for text in ('{"mae": 1, "mae": 2}', '{"mae": NaN}', '{"mae": 1e999}', 2000 * "["):
        with pytest.raises(UserError, match=r"^evaluation\.json is cut short or not JSON: "):
            read_record(_Figures, text, "evaluation.json")
    assert math.isfinite(read_record(_Figures, '{"mae": 1e308}', "evaluation.json").mae)


@pytest.mark.parametrize("text", [600 * "[", 600 * '{"a": ' + 600 * "}", 100 * "[[]," + 600 * "[{}, "])
def test_nesting_that_would_use_up_the_stack_is_told_before_it_does(text: str):
    with pytest.raises(RecursionError):
        check_nesting(text)


@pytest.mark.parametrize("text", [500 * "[" + 500 * "]", 1000 * "[[]]", json.dumps(1000 * ["[{", '"['])])
def test_many_brackets_are_no_deep_nesting(text: str):
    check_nesting(text)
