"""Samples on disk: chunks of time share them out, and a series comes back whole."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answers import METRIC
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train.errors import DataError, UserError
from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import (
    Series,
    read_series,
    schema,
    series_in_parts,
    table,
    window_of,
    writer,
)

milliseconds = st.integers(1_600_000_000_000, 1_900_000_000_000)
some_labels = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["", "x", "y", "ü"]), max_size=3)
rows = st.lists(st.tuples(some_labels, st.lists(st.integers(0, 50), min_size=1, max_size=6, unique=True)), max_size=5)


def series_of(labels: dict[str, str], times: list[int], doubled: int = 0) -> DecodedSeries:
    stamps = np.array(sorted(times), dtype=np.int64)
    return DecodedSeries(labels, stamps, stamps.astype(np.float64), doubled)


def told(series: list[Series]) -> list[tuple[dict[str, str], list[int], list[float], int]]:
    return [
        (dict(one.labels), np.rint(one.times * 1000).astype(int).tolist(), one.values.tolist(), one.doubled)
        for one in series
    ]


@given(st.lists(milliseconds, min_size=1, max_size=30, unique=True), st.lists(milliseconds, max_size=5))
@settings(max_examples=60)
def test_chunks_of_time_share_out_the_samples(times: list[int], borders: list[int]) -> None:
    edges = [0.0, *(ms / 1000 for ms in sorted(borders)), 2e9]
    found = [
        ms
        for after, until in itertools.pairwise(edges)
        for row in table([series_of({}, times)], schema(METRIC, []), after, until).to_pylist()
        for ms in (round(time.timestamp() * 1000) for time in row["time"])
    ]
    assert found == sorted(times)


@given(st.lists(rows, min_size=1, max_size=4), st.integers(1, 30))
@settings(max_examples=60)
def test_the_chunks_of_a_series_become_one_series(
    chunks: list[list[tuple[dict[str, str], list[int]]]], most: int
) -> None:
    expected: dict[frozenset[tuple[str, str]], list[int]] = {}
    with tempfile.TemporaryDirectory() as name:
        columns = schema(METRIC, "abc")
        with writer(Path(name), columns) as file:
            for number, chunk in enumerate(chunks):
                file.write_table(
                    table([series_of(labels, [100 * number + t for t in own], 1) for labels, own in chunk], columns)
                )
                for labels, own in chunk:
                    expected.setdefault(frozenset(labels.items()), []).extend(100 * number + t for t in own)
        found = told(read_series(Path(name), METRIC))
        assert [labels for labels, *_ in found] == [dict(labels) for labels in expected]
        assert [times for _, times, *_ in found] == [sorted(set(times)) for times in expected.values()]
        assert [values for *_, values, _ in found] == [times for _, times, *_ in found]
        rows = sum(map(len, chunks))
        again = sum(len(times) - len(set(times)) for times in expected.values())  # two rows with one time
        assert sum(one.doubled for one in read_series(Path(name), METRIC)) == rows + again
        assert told(list(series_in_parts(Path(name), METRIC, most))) == found


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    old = schema(METRIC, ["a"]).remove(3)
    assert old.names == ["label.a", "time", "value"]
    pq.write_table(
        table([series_of({"a": "1"}, [1000])], schema(METRIC, ["a"])).select(old.names), tmp_path / f"{METRIC}.parquet"
    )
    assert told(read_series(tmp_path, METRIC)) == [({"a": "1"}, [1000], [1000.0], 0)]


def test_labels_may_be_plain_text_columns(tmp_path: Path) -> None:
    rows = table([series_of({"a": "1"}, [1000]), series_of({}, [2000])], schema(METRIC, ["a"]))
    plain = rows.set_column(0, "label.a", rows.column(0).cast(pa.string()))
    pq.write_table(plain, tmp_path / f"{METRIC}.parquet")
    assert [one.labels for one in read_series(tmp_path, METRIC)] == [{"a": "1"}, {}]


def test_the_window_is_from_the_first_to_the_last_sample(tmp_path: Path) -> None:
    for metric, times in (("up", [5000, 7000]), ("down", [1500, 6000])):
        pq.write_table(table([series_of({}, times)], schema(metric, [])), tmp_path / f"{metric}.parquet")
    assert [f"{moment:%H:%M:%S.%f %Z}" for moment in window_of(tmp_path)] == [
        "00:00:01.500000 UTC",
        "00:00:07.000000 UTC",
    ]


def test_a_folder_without_samples_has_no_window(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no samples"):
        window_of(tmp_path)
    assert read_series(tmp_path, METRIC) == []


def test_a_parquet_file_of_something_else_is_one_sentence(tmp_path: Path) -> None:
    pd.DataFrame({"a": np.arange(3)}).to_parquet(tmp_path / f"{METRIC}.parquet")
    with pytest.raises(UserError, match="no columns time and value"):
        read_series(tmp_path, METRIC)
    (tmp_path / f"{METRIC}.parquet").write_bytes(b"PAR1 but then not")
    with pytest.raises(UserError, match="is not a Parquet file of samples"):
        read_series(tmp_path, METRIC)
