"""An answer of Prometheus to Parquet and back: nothing is lost, doubled or changed."""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train.collect.exchange import export_json, import_json
from kepler_train.collect.samples import metrics_in, read_series, schema, table, window_of
from kepler_train.errors import DataError, UserError

METRIC = "kepler_node_package_joules_total"

label_names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
label_values = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
milliseconds = st.integers(1_600_000_000_000, 1_900_000_000_000)
series = st.tuples(
    st.dictionaries(label_names, label_values, max_size=3),
    st.dictionaries(milliseconds, st.floats(), min_size=1, max_size=20),
)
answers = st.lists(series, min_size=1, max_size=5, unique_by=lambda one: frozenset(one[0].items()))


def as_answer(labels: dict[str, str], samples: list[tuple[int, float]]) -> dict[str, Any]:
    """As Prometheus prints it: seconds as a number, the value as text."""
    return {"metric": {"__name__": METRIC, **labels}, "values": [[ms / 1000, printed(v)] for ms, v in samples]}


def printed(value: float) -> str:
    return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN" if math.isnan(value) else repr(value))


def write(answer: list[dict[str, Any]], folder: Path) -> None:
    names = {name for one in answer for name in one["metric"]} - {"__name__"}
    pq.write_table(table(answer, schema(METRIC, names)), folder / f"{METRIC}.parquet")


def read(folder: Path) -> dict[frozenset[tuple[str, str]], list[tuple[int, str]]]:
    return {
        frozenset(one.labels.items()): [
            (round(t * 1000), printed(v)) for t, v in zip(one.times.tolist(), one.values.tolist(), strict=True)
        ]
        for one in read_series(folder, METRIC)
    }


@given(answers, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_what_is_answered_is_what_is_read(given: list[Any], chance: Any) -> None:
    answer = []
    for labels, samples in given:
        shuffled = list(samples.items())
        chance.shuffle(shuffled)
        answer.append(as_answer(labels, shuffled + shuffled[:2]))  # unsorted, and two samples doubled
    expected = {
        frozenset(labels.items()): [(ms, printed(v)) for ms, v in sorted(samples.items())] for labels, samples in given
    }
    with tempfile.TemporaryDirectory() as name:
        write(answer, Path(name))
        assert read(Path(name)) == expected
        # … and so it is by way of kepler_query.json.
        export_json(Path(name), Path(name) / "query.json")
        again = Path(name, "again")
        again.mkdir()
        import_json(Path(name) / "query.json", again)
        assert read(again) == expected


@given(st.lists(milliseconds, min_size=1, max_size=30, unique=True), st.lists(milliseconds, max_size=5))
@settings(max_examples=60)
def test_chunks_of_time_share_out_the_samples(times: list[int], borders: list[int]) -> None:
    answer = [as_answer({}, [(ms, 1.0) for ms in sorted(times)])]
    edges = [0.0, *(ms / 1000 for ms in sorted(borders)), 2e9]
    found = [
        ms
        for after, until in itertools.pairwise(edges)
        for row in table(answer, schema(METRIC, []), after, until).to_pylist()
        for ms in (round(time.timestamp() * 1000) for time in row["time"])
    ]
    assert found == sorted(times)


@pytest.mark.parametrize("text", ["1e3", "1E3", "1000.0", "+1000", "1.0e+03"])
def test_a_number_may_be_written_in_any_way(text: str) -> None:
    rows = table([{"metric": {}, "values": [[1, text]]}], schema(METRIC, [])).to_pylist()
    assert rows[0]["value"] == [1000.0]


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ({"metric": {}}, "'values' is missing"),
        ({"values": [[1, "2"]]}, "'metric' is missing"),
        ({"metric": {}, "values": [[1, "two"]]}, "two"),
        ({"metric": {}, "values": [["now", "2"]]}, "now"),
        ({"metric": {}, "values": [[1]]}, "cannot be read"),
        ({"metric": {}, "values": [1, 2]}, "cannot be read"),
        ({"metric": {}, "values": None}, "cannot be read"),
        ("text", "cannot be read"),
    ],
)
def test_a_series_of_another_shape_is_one_sentence(series: Any, words: str) -> None:
    with pytest.raises(DataError, match=METRIC) as error:
        table([series], schema(METRIC, []))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "is not a query"),
        ('{"up": 3}', "up is not a list"),
        ('{"../../up": []}', "not the name of a metric"),
        ('{"up": [{"values": []}]}', "has no labels"),
        ('{"up": [{"metric": {"a": 1}, "values": []}]}', "has no labels"),
        ('{"up": [{"metric": {}, "values": [[1, "x"]]}]}', "up cannot be read"),
        ('{"up": []}', "has no samples"),
        ('{"up": [{"metric": {}, "values": []}]}', "has no samples"),
        ('{"up": [', "cut short or not JSON"),
        ("\xff", "cut short or not JSON"),
    ],
)
def test_a_file_of_another_shape_is_one_sentence(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "query.json").write_text(content, encoding="latin-1")
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises((UserError, DataError), match=r"query\.json") as error:
        import_json(tmp_path / "query.json", out)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_real_query_comes_back_to_the_letter(shared_data: Path, tmp_path: Path) -> None:
    import_json(shared_data / "idle_broadwell_gpu.json", tmp_path)
    export_json(tmp_path, tmp_path / "again.json")
    before = json.loads((shared_data / "idle_broadwell_gpu.json").read_text())
    after = json.loads((tmp_path / "again.json").read_text())
    in_order = {m: sorted(json.dumps(one, sort_keys=True) for one in many) for m, many in after.items()}
    assert in_order == {m: sorted(json.dumps(one, sort_keys=True) for one in many) for m, many in before.items()}
    assert len(metrics_in(tmp_path)) == 31
    assert [f"{moment:%H:%M:%S}" for moment in window_of(tmp_path)] == ["10:16:39", "10:18:06"]


def test_a_parquet_file_of_something_else_is_one_sentence(tmp_path: Path) -> None:
    import pandas as pd

    pd.DataFrame({"a": np.arange(3)}).to_parquet(tmp_path / f"{METRIC}.parquet")
    with pytest.raises(UserError, match="no columns time and value"):
        read_series(tmp_path, METRIC)
    (tmp_path / f"{METRIC}.parquet").write_bytes(b"PAR1 but then not")
    with pytest.raises(UserError, match="is not a Parquet file of samples"):
        read_series(tmp_path, METRIC)
