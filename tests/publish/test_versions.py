"""Versions sort by time and are the same for the same files."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kepler_train.publish.version import version_of, window_end_of

END = datetime(2026, 11, 14, 2, tzinfo=UTC)
TIMES = st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1))


def exported(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_the_same_files_are_the_same_version_wherever_and_in_whatever_order_they_were_written(tmp_path: Path):
    files = {"metadata.json": "{}", "rapl-sysfs/AbsPower/BPFOnly/model.zip": "zip"}
    one = version_of(exported(tmp_path / "one", files), END)
    two = version_of(exported(tmp_path / "two", dict(reversed(files.items()))), END)
    assert one == two
    assert one.startswith("20261114T020000Z-")
    assert re.fullmatch(r"20261114T020000Z-[0-9a-f]{32}", one)  # 128 bits


def test_another_content_name_or_border_between_files_is_another_version(tmp_path: Path):
    variants = [{"a": "xy"}, {"a": "xz"}, {"b": "xy"}, {"a": "x", "b": "y"}, {"a": "", "axy": ""}, {}]
    (tmp_path / "5").mkdir()
    versions = {version_of(exported(tmp_path / str(i), files), END) for i, files in enumerate(variants)}
    assert len(versions) == len(variants)


@given(TIMES, TIMES)
def test_later_windows_sort_later_by_the_second(one: datetime, other: datetime):
    empty = Path("/nowhere/to/be/seen")
    versions = version_of(empty, one), version_of(empty, other)
    ends = [moment.replace(microsecond=0) for moment in (one, other)]
    assert (ends[0] < ends[1]) == (window_end_of(versions[0]) < window_end_of(versions[1]))
    assert (ends[0] < ends[1]) == (versions[0] < versions[1])


def test_versions_of_before_with_eight_digits_sort_beside_those_with_more():
    before, after = "20261114T020000Z-0a1b2c3d", f"20261114T020000Z-{'0a1b2c3d' * 4}"
    assert window_end_of(before) == window_end_of(after) == "20261114T020000Z"
    assert before < after < "20261115T020000Z-00000000"


def test_a_name_that_is_no_version_has_no_window():
    assert window_end_of("20261114T020000Z-0a1b2c3d") == "20261114T020000Z"
    assert [window_end_of(name) for name in ("", "latest", "v2-final", "20261114T020000Z")] == ["", "", "", ""]
