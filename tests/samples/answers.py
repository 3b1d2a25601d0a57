"""Answers of Prometheus for hypothesis, in the handwriting of many servers, and a plain reader of them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

METRIC = "kepler_node_package_joules_total"

label_names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True) | st.sampled_from(["values", "metric", "größe"])
label_values = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
) | st.sampled_from(['"values":[[1,"2"]]', '\\"values\\":[[', '"]]},{', "[[", "\\", "NaN", "a\\", "日本"])
milliseconds = st.integers(1_600_000_000_000, 1_900_000_000_000)
early = st.integers(-5_000, 5_000)  # around 1970, where a time may be 0, negative or a fraction
values = st.floats() | st.integers(-(10**18), 10**18).map(float) | st.sampled_from([1e16, 1e21, 1e-6, 5e-324, -0.0])
labels = st.dictionaries(label_names, label_values, max_size=3)
samples = st.lists(st.tuples(milliseconds, values), max_size=12) | st.lists(st.tuples(early, values), max_size=5)
series = st.tuples(labels, samples)
answers = st.lists(series, max_size=6, unique_by=lambda one: frozenset(one[0].items()))

# How servers and people write JSON: no blanks, those of Python, one thing per line.
LAYOUTS: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"indent": 2}, {"separators": (" , ", "\t:\n")}]


def printed(value: float) -> str:
    """As Prometheus prints a value."""
    return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN" if math.isnan(value) else repr(value))


def as_answer(labels: dict[str, str], samples: list[tuple[int, float]], metric: str = METRIC) -> dict[str, Any]:
    """As Prometheus prints a series: seconds as a number, the value as text."""
    times = [ms // 1000 if ms % 1000 == 0 else ms / 1000 for ms, _ in samples]
    pairs = [[time, printed(value)] for time, (_, value) in zip(times, samples, strict=True)]
    return {"metric": {**labels, "__name__": metric}, "values": pairs}


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A whole answer, its keys in any order."""
    result = [draw(st.permutations(list(as_answer(*one).items())).map(dict)) for one in draw(answers)]
    data = draw(st.permutations([("resultType", "matrix"), ("result", result)]).map(dict))
    more = draw(st.sampled_from([{}, {"warnings": ["too old"]}, {"isPartial": False, "stats": {"seriesFetched": "2"}}]))
    whole = draw(st.permutations(list({"status": "success", "data": data, **more}.items())).map(dict))
    return json.dumps(whole, ensure_ascii=draw(st.booleans()), **draw(st.sampled_from(LAYOUTS))).encode()


Plain = list[tuple[dict[str, str], list[tuple[int, str]], int]]


def plainly_read(body: bytes) -> Plain | None:
    """Labels, samples (ms and the value's exact text) and doubles of each series; None for what is no answer."""
    try:
        content = strictly(body)
        if content["status"] != "success" or content["data"]["resultType"] != "matrix":
            return None
        return [_plain_series(one) for one in content["data"]["result"]]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def strictly(text: bytes) -> Any:
    """JSON without doubled keys and without NaN."""
    return json.loads(text.decode(), object_pairs_hook=_once, parse_constant=_no_constant)


def _plain_series(one: Any) -> tuple[dict[str, str], list[tuple[int, str]], int]:
    found: dict[int, float] = {}
    for label in (*one["metric"].keys(), *one["metric"].values()):
        label.encode()
        if "\0" in label:
            raise ValueError
    pairs = one["values"] if "values" in one or "histograms" not in one else []
    if not isinstance(pairs, list):
        raise TypeError
    for time, value in pairs:
        if isinstance(time, str | bool) or isinstance(value, bool) or "_" in str(value):
            raise TypeError
        if not -62_135_596_800 <= time <= 253_402_300_799:
            raise ValueError
        found.setdefault(int(np.rint(np.float64(time) * 1000)), float(value))
    return one["metric"], [(ms, repr(found[ms])) for ms in sorted(found)], len(pairs) - len(found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _no_constant(word: str) -> None:
    raise ValueError(word)
