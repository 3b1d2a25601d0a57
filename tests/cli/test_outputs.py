"""Outputs take the place of earlier results of the same kind, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from killing import Arm, count_file_operations, killed_at_each_point

from kepler_train.cli import exchange
from kepler_train.cli.files import whole_file, whole_folder
from kepler_train.cli.results import is_query_file
from kepler_train.errors import UserError

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
MODEL = "mine/rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0"


def write_rows(file: Path) -> None:
    """40 rows of one container, 3 s apart; package = 20 + 0.03·cpu W."""
    cpu = np.random.default_rng(0).uniform(0, 4000, 40)
    rows = pd.DataFrame({"timestamp": 1_794_614_400 + 3 * np.arange(40), "node": "n", "id": "all containers"})
    rows = rows.assign(bpf_cpu_time_ms=cpu, bpf_page_cache_hit=1.0, package_power=20 + 0.03 * cpu)
    rows.to_csv(file, index=False) if file.suffix == ".csv" else rows.to_parquet(file)


@pytest.fixture
def typed(kepler_train: KeplerTrain, tmp_path: Path) -> Callable[[str], tuple[int, list[str]]]:
    """A command as typed, beside `rows.csv` and `rows.parquet`: its exit code and its errors."""
    for name in ("rows.csv", "rows.parquet"):
        write_rows(tmp_path / name)

    def run(command: str) -> tuple[int, list[str]]:
        code, _, errors = kepler_train(*command.split())
        return code, errors

    return run


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_isolated_table_replaces_its_like_and_never_what_was_read(
    typed: Callable[[str], tuple[int, list[str]]], tmp_path: Path, suffix: str
) -> None:
    isolate = f"isolate-from-data -i rows{suffix} --isolator min -o"
    given = (tmp_path / f"rows{suffix}").read_bytes()
    for name in (f"rows{suffix}", f"./rows{suffix}"):
        code, errors = typed(f"{isolate} {name}")
        assert (code, errors) == (
            2,
            [f"error: rows{suffix} is what is read, and is left as it is: choose another name for the output."],
        )
    assert (tmp_path / f"rows{suffix}").read_bytes() == given
    assert typed(f"{isolate} out{suffix}") == (0, [])
    assert typed(f"{isolate} out{suffix}") == (0, [])
    (tmp_path / f"notes{suffix}").write_text("mine,yours\n1,2\n")
    code, errors = typed(f"{isolate} notes{suffix}")
    assert (code, len(errors)) == (2, 1)
    assert f"notes{suffix} holds something else and is left as it is: choose another name." in errors[0]
    assert (tmp_path / f"notes{suffix}").read_text() == "mine,yours\n1,2\n"
    assert not list(tmp_path.glob(".*"))  # nothing half-made is left


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_estimate_replaces_an_earlier_estimate_only(
    typed: Callable[[str], tuple[int, list[str]]], tmp_path: Path, suffix: str
) -> None:
    assert typed("train-from-data -i rows.csv -p mine --trainers LinearRegressionTrainer --node-type 0") == (0, [])
    assert typed(f"isolate-from-data -i rows.csv --isolator min -o isolated{suffix}") == (0, [])
    before = {name: (tmp_path / name).read_bytes() for name in (f"rows{suffix}", f"isolated{suffix}")}
    for name in before:
        code, errors = typed(f"estimate --model {MODEL} --data rows{suffix} -o {name}")
        assert (code, len(errors)) == (2, 1)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    for _ in range(2):
        assert typed(f"estimate --model {MODEL} --data rows{suffix} -o estimated{suffix}") == (0, [])


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_picture_replaces_a_picture_of_ours_only(
    typed: Callable[[str], tuple[int, list[str]]], tmp_path: Path, suffix: str
) -> None:
    for _ in range(2):
        assert typed(f"plot -i rows.csv -o drawn{suffix}") == (0, [])
    (tmp_path / f"holiday{suffix}").write_bytes(b"\x89PNG\r\n\x1a\n of the sea")
    code, errors = typed(f"plot -i rows.csv -o holiday{suffix}")
    assert (code, len(errors)) == (2, 1)
    assert (tmp_path / f"holiday{suffix}").read_bytes() == b"\x89PNG\r\n\x1a\n of the sea"


def test_json_replaces_json_of_the_same_keys_only(tmp_path: Path) -> None:
    file = tmp_path / "found.json"

    def write(text: str) -> None:
        with whole_file(file) as whole:
            whole.write_text(text)

    file.touch()  # as mktemp does: there is nothing to lose
    write('{"nodes": 1, "groups": 2}')
    write('{"groups": 4, "nodes": 3}')
    for other in ('{"kepler_node_package_joules_total": []}', "[]", "notes"):
        file.write_text(other)
        with pytest.raises(UserError, match="holds something else"):
            write('{"nodes": 5, "groups": 6}')
        assert file.read_text() == other


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ('{"kepler_a_total": [{"metric": {"node": "n"}, "values": [[1, "2"]]}]}', True),
        ('{\n "kepler_a_total": [],\n "kepler_b_total": [\n  {"values": []}]}', True),
        ('{"kepler_a_total": []}', True),
        ('{"phases": [{"load": "cpu"}]}', False),
        ('{"startTimeUTC": "2026-11-14T00:00:00Z"}', False),
        ("notes", False),
    ],
)
def test_a_query_is_told_from_other_json_by_how_it_begins(tmp_path: Path, text: str, is_one: bool) -> None:
    (tmp_path / "q.json").write_text(text)
    assert is_query_file(tmp_path / "q.json") is is_one


def test_a_pipeline_is_not_exported_onto_itself(typed: Callable[[str], tuple[int, list[str]]], tmp_path: Path) -> None:
    assert typed("train-from-data -i rows.csv -p mine --trainers LinearRegressionTrainer --node-type 0") == (0, [])
    code, errors = typed("export -p mine -o models --zip=false")
    assert (code, len(errors)) == (2, 1)
    assert "models/mine is what is read, and is left as it is" in errors[0]
    assert (tmp_path / "models" / f"{MODEL}.zip").is_file()


def write_folder(path: Path, word: str) -> None:
    with whole_folder(path, lambda _: True) as folder:
        folder.mkdir()
        for name in ("a", "b"):
            (folder / name).write_text(word)


def words_of(path: Path) -> list[str]:
    return sorted(file.read_text() for file in path.iterdir())


def test_killed_at_any_point_a_folder_is_the_earlier_one_or_the_new_one(tmp_path: Path) -> None:
    def write_anew(k: int) -> Callable[[Arm], None]:
        write_folder(tmp_path / str(k), "old")

        def work(count: Arm) -> None:
            count_file_operations(tmp_path, count)
            write_folder(tmp_path / str(k), "new")

        return work

    seen = [words_of(tmp_path / str(k)) for k in killed_at_each_point(write_anew)]
    assert seen.count(["old", "old"]) >= 4
    assert set(map(tuple, seen)) == {("old", "old"), ("new", "new")}


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_new_folder_takes_the_place_of_an_earlier_one_on_every_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanged: bool
) -> None:
    if not exchanged:
        monkeypatch.setattr(exchange, "_exchanged", lambda *_: False)
    for word in ("old", "new"):
        write_folder(tmp_path / "made", word)
    assert words_of(tmp_path / "made") == ["new", "new"]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
