"""`kepler_query.json` in and out: nothing is lost, doubled or changed, however large the file is."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from answers import LAYOUTS, METRIC, answers, as_answer, plainly_read, printed, strictly
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train.errors import DataError, UserError
from kepler_train.samples import kepler_query_reader
from kepler_train.samples.kepler_query_json import export_json, import_json
from kepler_train.samples.parquet import metrics_in, read_series, window_of

Content = dict[str, dict[frozenset[tuple[str, str]], list[tuple[int, str]]]]

layouts = st.sampled_from(LAYOUTS)
contents = st.dictionaries(st.sampled_from([METRIC, "up", "a:b"]), answers, max_size=3).map(
    lambda by_metric: {metric: [as_answer(*one, metric) for one in many] for metric, many in by_metric.items()}
)

filled = contents.filter(lambda content: any(one["values"] for many in content.values() for one in many))


def held(text: bytes) -> Content | None:
    """What a file holds, by a plain reader; None for one that should be refused."""
    try:
        content = strictly(text)
    except ValueError:
        return None
    found: Content = {}
    for metric, series in content.items():
        answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
        plain = plainly_read(json.dumps(answer).encode())
        if plain is None or not isinstance(series, list) or not re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*", metric):
            return None
        for labels, samples, _ in plain:
            if samples:
                named = frozenset((name, value) for name, value in labels.items() if name != "__name__")
                before = found.setdefault(metric, {}).get(named, [])
                found[metric][named] = sorted((dict(samples) | dict(before)).items())
    return found or None


def read(folder: Path) -> Content:
    return {
        metric: {
            frozenset(one.labels.items()): [
                (round(time * 1000), repr(value))
                for time, value in zip(one.times.tolist(), one.values.tolist(), strict=True)
            ]
            for one in read_series(folder, metric)
        }
        for metric in metrics_in(folder)
    }


def imported(text: bytes) -> Content | None:
    """What comes in; None after an error."""
    with tempfile.TemporaryDirectory() as name:
        file, out = Path(name, "query.json"), Path(name, "out")
        file.write_bytes(text)
        out.mkdir()
        try:
            import_json(file, out)
        except (UserError, DataError) as error:
            check_sentence(error)
            return None
        return read(out)


def check_sentence(error: Exception) -> None:
    assert str(error).count("query.json") == 1
    assert "\n" not in str(error)


@given(contents, layouts, st.booleans(), st.integers(1, 400))
@settings(max_examples=60)
def test_every_file_is_read_whatever_its_layout_and_however_little_is_read_at_a_time(
    content: dict[str, Any], layout: dict[str, Any], plain: bool, block: int
) -> None:
    text = json.dumps(content, ensure_ascii=plain, **layout).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kepler_query_reader, "_BLOCK", block)
        patch.setattr(kepler_query_reader, "_LEARN", 2 * block)
        assert imported(text) == held(text)


@given(filled)
@settings(max_examples=40)
def test_what_goes_out_comes_in_again(content: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        first, again, file = Path(name, "first"), Path(name, "again"), Path(name, "query.json")
        first.mkdir()
        again.mkdir()
        file.write_text(json.dumps(content))
        import_json(file, first)
        export_json(first, file)
        import_json(file, again)
        assert read(again) == held(json.dumps(content).encode())
        written = json.loads(file.read_text())
    texts = [value for many in written.values() for one in many for _, value in one["values"]]
    assert {text for text in texts if "e" in text} <= {t for t in texts if not 1e-6 <= abs(float(t)) < 1e21}
    times = [time for many in written.values() for one in many for time, _ in one["values"]]
    assert all(isinstance(time, int) or time % 1 for time in times)


@given(filled, layouts, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_a_file_that_breaks_off_is_never_a_shorter_file(
    content: dict[str, Any], layout: dict[str, Any], chance: Random
) -> None:
    text = json.dumps(content, **layout).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kepler_query_reader, "_BLOCK", chance.choice([7, 50, 8_000_000]))
        for _ in range(6):
            assert imported(text[: chance.randrange(len(text))]) is None


@given(filled, layouts, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_a_file_with_a_wrong_byte_is_read_as_json_has_it_or_refused(
    content: dict[str, Any], layout: dict[str, Any], chance: Random
) -> None:
    text = json.dumps(content, **layout).encode()
    for _ in range(8):
        at, by = chance.randrange(len(text)), chance.choice(b'0123456789.-+eE"[]{},: \t\n\\NaI\xff')
        broken = text[:at] + bytes([by]) + text[at + 1 :]
        assert imported(broken) == held(broken)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "is not a query"),
        ("", "cut short or not JSON"),
        ("{}", "has no samples"),
        ('{"up": 3}', "up is not a list"),
        ('{"up": [], "up": []}', "twice"),
        ('{"../../up": []}', "not the name of a metric"),
        ('{{"up": 1}: []}', "the name of a metric is missing"),
        ("{[1]: []}", "the name of a metric is missing"),
        ('{"up": [{"values": []}]}', "has no labels"),
        ('{"up": ["text"]}', "has no labels"),
        ('{"up": [{"metric": {"a": 1}, "values": []}]}', "has no labels"),
        ('{"up": [{"metric": {}}]}', "'values' is missing"),
        ('{"up": [{"metric": {}, "values": [[1, "x"]]}]}', "up cannot be read"),
        ('{"up": [{"metric": {}, "values": [[1, "1"], [2, "x"]]}]}', "up cannot be read"),
        ('{"up": []}', "has no samples"),
        ('{"up": [{"metric": {}, "values": []}]}', "has no samples"),
        ('{"up": [', "cut short or not JSON"),
        ('{"up": []} {}', "cut short or not JSON"),
        ('{"up": [{"metric": {}, "values": NaN}]}', "cut short or not JSON"),
        ('{"up": [' + 100_000 * "[", "cut short or not JSON"),
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


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.json cannot be read: No such file"):
        import_json(tmp_path / "none.json", tmp_path)


def test_a_packed_file_is_read_too_and_a_broken_one_is_said_to_be_so(tmp_path: Path) -> None:
    content = {"up": [as_answer({"a": "1"}, [(1000, 1.0), (2000, 2.0)], "up")]}
    packed = gzip.compress(json.dumps(content).encode())
    assert imported(packed) == held(gzip.decompress(packed))
    assert imported(packed[:-9]) is None


def test_doubled_samples_are_counted(tmp_path: Path) -> None:
    content = {"up": [as_answer({"a": "1"}, [(1000, 1.0), (1000, 2.0), (500, 2.0)], "up")]}
    (tmp_path / "query.json").write_text(json.dumps(content))
    import_json(tmp_path / "query.json", tmp_path)
    (series,) = read_series(tmp_path, "up")
    assert (series.times.tolist(), series.values.tolist(), series.doubled) == ([0.5, 1.0], [2.0, 1.0], 1)


def test_a_long_file_needs_the_memory_of_a_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kepler_query_reader, "_PART", 100_000)
    one = json.dumps(as_answer({}, [(1_700_000_000_000 + 3000 * n, n / 7) for n in range(1000)]))
    file, out = tmp_path / "query.json", tmp_path / "out"
    out.mkdir()
    with file.open("w") as text:
        text.write("{")
        for metric in range(10):
            series = ",".join(one.replace(METRIC, f"a{number}") for number in range(30))
            text.write(f'{"," if metric else ""}"m{metric}": [{series}]')
        text.write("}")
    size = file.stat().st_size
    tracemalloc.start()
    import_json(file, out)
    export_json(out, tmp_path / "again.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 10_000_000
    assert peak < size / 3
    assert len(json.loads((tmp_path / "again.json").read_text())["m9"][0]["values"]) == 1000


def test_a_real_query_comes_back_to_the_letter(shared_data: Path, tmp_path: Path) -> None:
    import_json(shared_data / "idle_broadwell_gpu.json", tmp_path)
    export_json(tmp_path, tmp_path / "again.json")
    before = json.loads((shared_data / "idle_broadwell_gpu.json").read_text())
    after = json.loads((tmp_path / "again.json").read_text())
    in_order = {m: sorted(json.dumps(one, sort_keys=True) for one in many) for m, many in after.items()}
    assert in_order == {m: sorted(json.dumps(one, sort_keys=True) for one in many) for m, many in before.items()}
    assert len(metrics_in(tmp_path)) == 31
    assert [f"{moment:%H:%M:%S}" for moment in window_of(tmp_path)] == ["10:16:39", "10:18:06"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (1e16, "10000000000000000"), (1e21, "1e+21"), (1.5e-5, "0.000015"), (1e-7, "1e-07"), (-0.0, "-0")],
)
def test_numbers_are_written_as_prometheus_writes_them(value: float, text: str, tmp_path: Path) -> None:
    (tmp_path / "query.json").write_text(json.dumps({"up": [as_answer({}, [(1500, value)], "up")]}))
    import_json(tmp_path / "query.json", tmp_path)
    export_json(tmp_path, tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["up"][0]["values"] == [[1.5, text]]
    assert printed(value) == repr(float(text))
