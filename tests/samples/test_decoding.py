"""An answer of Prometheus to arrays: nothing is lost, doubled or changed, and what cannot be read is said to be so."""

from __future__ import annotations

import json
import tracemalloc
from random import Random
from typing import Any

import numpy as np
import pytest
from answers import METRIC, Plain, answers, as_answer, bodies, plainly_read
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kepler_train.errors import DataError
from kepler_train.samples import decoding
from kepler_train.samples.decoding import Answer, decode_answer
from kepler_train.samples.sample_text import form_of, parse
from kepler_train.samples.strict_json import Truncated

TWO = b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s,[1700000003,"4"]]}]}}'

chance = st.randoms(use_true_random=False)


def compared(answer: Answer) -> Plain:
    return [
        (
            one.labels,
            [(ms, repr(v)) for ms, v in zip(one.times.tolist(), one.values.tolist(), strict=True)],
            one.doubled,
        )
        for one in answer.series
    ]


def decoded(body: bytes) -> Plain | None:
    """What comes out, or None after an error of the kinds that callers know."""
    try:
        return compared(decode_answer(body))
    except (DataError, Truncated) as error:
        check_sentence(error)
        return None


def check_sentence(error: Exception) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 300


def answer_of(*series: Any, **more: Any) -> bytes:
    return json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": list(series)}, **more}, separators=(",", ":")
    ).encode()


@given(bodies())
@settings(max_examples=80)
def test_every_answer_is_what_a_plain_reader_reads(body: bytes) -> None:
    expected = plainly_read(body)
    assert expected is not None
    assert decoded(body) == expected


@given(bodies(), chance)
@settings(max_examples=30)
def test_an_answer_that_breaks_off_is_never_a_shorter_answer(body: bytes, chance: Random) -> None:
    for at in [0, 1, len(body) - 1, *(chance.randrange(len(body)) for _ in range(20))]:
        with pytest.raises(Truncated):
            decode_answer(body[:at])


@given(bodies(), chance)
@settings(max_examples=40)
def test_an_answer_with_a_wrong_byte_is_read_as_json_has_it_or_refused(body: bytes, chance: Random) -> None:
    for _ in range(40):
        at, by = chance.randrange(len(body)), chance.choice(b'0123456789.-+eE"[]{},: \t\n\r\\NaIx\x00\xc3\xff')
        broken = body[:at] + bytes([by]) + body[at + 1 :]
        assert decoded(broken) == plainly_read(broken)


@given(bodies(), chance)
@settings(max_examples=40)
def test_an_answer_that_lost_or_doubled_a_piece_is_read_as_json_has_it_or_refused(body: bytes, chance: Random) -> None:
    for _ in range(20):
        first = chance.randrange(len(body))
        last = first + chance.randrange(1, 40)
        for broken in (body[:first] + body[last:], body[:last] + body[first:]):
            assert decoded(broken) == plainly_read(broken)


NOT_JSON = ["01", "+1", ".5", "5.", "1.e3", "NaN", "1\t", "1 2", "0x1", "true", "null", '"1"', "[1]", "\ufeff1"]


@pytest.mark.parametrize("time", NOT_JSON)
def test_a_time_that_is_no_number_is_refused(time: str) -> None:
    body = TWO % f'[{time},"2"]'.encode()
    assert decoded(body) == plainly_read(body)


@pytest.mark.parametrize(
    "value",
    [
        *("1e3", "1E3", "+1000", "1.0e+03", "-0", "1e400", "1e-400", "Inf", "+Inf", "-Inf", "NaN", "nan", "Infinity"),
        *(
            "",
            "x",
            "1_0",
            "nan(1)",
            "--1",
            "0x10",
            " 1",
            "1 ",
            "1\t",
            "1\r",
            "1\n",
            "1]",
            "[1",
            "1,2",
            '1"',
            "\\u0031",
            "\\u00e9",
        ),
    ],
)
@pytest.mark.parametrize("quote", ['"', ""])
def test_a_value_is_read_as_python_reads_it_or_refused(value: str, quote: str) -> None:
    body = TWO % f"[1700000000,{quote}{value}{quote}]".encode()
    assert decoded(body) == plainly_read(body)


@pytest.mark.parametrize("text", ["1e3", "1E3", "1000.0", "+1000", "1.0e+03"])
def test_a_number_may_be_written_in_any_way(text: str) -> None:
    (series,) = decode_answer(TWO % f'[1700000000.123,"{text}"]'.encode()).series
    assert series.times.tolist() == [1700000000123, 1700000003000]
    assert series.values.tolist() == [1000.0, 4.0]


def test_of_samples_with_the_same_time_the_first_is_kept_and_the_others_counted() -> None:
    samples = [(3000, 3.0), (1000, 1.0), (2000, 2.0), (1000, 9.0), (1000, 8.0)]
    first, second = decode_answer(answer_of(as_answer({"a": "1"}, samples), as_answer({"a": "2"}, samples[1:3]))).series
    assert (first.times.tolist(), first.values.tolist(), first.doubled) == ([1000, 2000, 3000], [1.0, 2.0, 3.0], 2)
    assert (second.times.tolist(), second.doubled) == ([1000, 2000], 0)


@given(answers, st.integers(1, 200))
@settings(max_examples=50)
def test_the_size_of_a_part_changes_nothing(given: list[Any], size: int) -> None:
    body = answer_of(*(as_answer(*one) for one in given))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "_PART", size)
        assert decoded(body) == plainly_read(body)


@pytest.mark.parametrize("layout", [{"separators": (",", ":")}, {}, {"indent": 1}])
def test_the_usual_layouts_are_read_without_an_object_per_sample(layout: dict[str, Any]) -> None:
    one = as_answer({}, [(1_700_000_000_123 + 3000 * n, n / 7) for n in range(1000)])
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [one]}}, **layout).encode()
    form = form_of(body)
    assert form is not None
    text = body[body.index(form.start) + len(form.start) : body.rindex(form.end)]
    parsed = parse([text, text], form)
    assert parsed is not None
    assert parsed[1].tolist() == 2 * [n / 7 for n in range(1000)]
    assert parsed[2] == [1000, 1000]


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ({"metric": {"__name__": METRIC}}, f"{METRIC} cannot be read: 'values' is missing"),
        ({"metric": {"__name__": METRIC}, "values": None}, f"{METRIC} cannot be read: 'values' is not a list"),
        ({"metric": {"__name__": METRIC}, "values": [[1, "two"]]}, "two"),
        ({"metric": {"__name__": METRIC}, "values": [["now", "2"]]}, "now"),
        ({"metric": {"__name__": METRIC}, "values": [[1]]}, f"{METRIC} cannot be read"),
        ({"metric": {"__name__": METRIC}, "values": [[1, "2", "3"]]}, f"{METRIC} cannot be read"),
        ({"metric": {"__name__": METRIC}, "values": [1, 2]}, f"{METRIC} cannot be read"),
        ({"metric": {"__name__": METRIC}, "values": [[1e300, "2"]]}, "not within the years 1 to 9999"),
        ({"metric": {"__name__": METRIC, "pod": "\ud800"}, "values": []}, "not Unicode"),
        ({"metric": {"pod": 7}, "values": []}, "no labels"),
        ({"values": [[1, "2"]]}, "no labels"),
        ("text", "no labels"),
    ],
)
def test_a_series_of_another_shape_is_one_sentence(series: Any, words: str) -> None:
    with pytest.raises(DataError) as error:
        decode_answer(answer_of(as_answer({}, [(1000, 1.0), (2000, 2.0)]), series))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[]", "not one of Prometheus"),
        (b"<html>", "is not JSON"),
        (b'{"status":"success"}x', "breaks off"),
        (b'{"status":x}', "is not JSON"),
        (b'{"status":"success","status":"success"}', "twice"),
        (b'{"status":NaN}', "NaN is not a number"),
        (b'{"status":"error","error":"out of luck"}', "out of luck"),
        (b'{"status":"success","data":{}}', "no result"),
        (b'{"status":"success","data":{"resultType":"matrix","result":{}}}', "no result"),
        (b'{"status":"success","data":{"resultType":"vector","result":[]}}', "is a vector, not a matrix"),
        (b'{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}', "is a scalar, not a matrix"),
        (b'{"status":"success","data":{"resultType":"string","result":[1,"a"]}}', "is a string, not a matrix"),
        (b'{"a":' + 100_000 * b"[", "nested too deeply"),
    ],
)
def test_an_answer_of_another_shape_is_one_sentence(body: bytes, words: str) -> None:
    with pytest.raises((DataError, Truncated), match=words):
        decode_answer(body)


def test_no_series_is_an_answer_too() -> None:
    assert decode_answer(answer_of()) == Answer([], [])
    assert decode_answer(answer_of(warnings=None)) == Answer([], [])


def test_what_the_server_says_is_passed_on() -> None:
    answer = decode_answer(answer_of(warnings=["a store is missing"], infos=["rate of a gauge", "rate of a gauge"]))
    assert answer.warnings == ["a store is missing", "rate of a gauge"]


def test_native_histograms_are_left_out_with_a_sentence() -> None:
    buckets = {"count": "3", "sum": "4.5", "buckets": [[0, "1", "2", "3"]]}
    mixed = {**as_answer({"a": "1"}, [(1000, 1.0), (2000, 2.0)]), "histograms": [[3, buckets]]}
    only = {"metric": {"__name__": METRIC, "a": "2"}, "histograms": [[3, buckets]]}
    answer = decode_answer(answer_of(mixed, only))
    assert [one.values.tolist() for one in answer.series] == [[1.0, 2.0], []]
    assert answer.warnings == [f"A series of {METRIC} has native histograms, which are left out."]


def test_a_label_of_a_hundred_megabytes_is_read_within_a_few_times_its_size() -> None:
    long = "x" * 100_000_000
    body = answer_of(as_answer({"pod": long}, [(1000, 1.0), (2000, 2.0)]))
    tracemalloc.start()
    (series,) = decode_answer(body).series
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert series.labels["pod"] == long
    assert series.values.tolist() == [1.0, 2.0]
    assert peak < 6 * len(long)


@example([1.0, 2.0])
@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=50))
@settings(max_examples=100)
def test_values_are_the_nearest_doubles_of_any_text(numbers: list[float]) -> None:
    texts = [f"{number:.{digits}e}" for number, digits in zip(numbers, np.arange(len(numbers)) % 25, strict=True)]
    pairs = [[1_700_000_000 + at, text] for at, text in enumerate(texts)]
    (series,) = decode_answer(answer_of({"metric": {}, "values": pairs})).series
    assert series.values.tolist() == [float(text) for text in texts]
