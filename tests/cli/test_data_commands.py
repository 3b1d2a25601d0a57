"""Collect, push, pull and retrain: from Prometheus into a store, and from there to models without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kepler_train.cli import main
from kepler_train.simulate.history import exported, write_schedule
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import store_of

START = 1_794_614_400.0  # 2026-11-14T00:00:00Z
WINDOW = ["--start-time", "2026-11-14T00:00:00Z", "--end-time", "2026-11-14T02:00:00Z"]
Said = tuple[int, str]


@pytest.fixture(scope="module")
def nodes() -> list[NodeRun]:
    return run_nodes(Scenario(start=START, duration=2 * 3600, nodes=1, seed=6, containers=3, phase=300, idle=120))


@pytest.fixture(scope="module")
def server(nodes: list[NodeRun]) -> Iterator[str]:
    with prometheus_server(store_of(exported(nodes, "legacy", ["rapl-sysfs"], frozenset(), seed=6))) as running:
        yield running.url


@pytest.fixture
def kepler_train(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Said]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEPLER_TRAIN_DATA", str(tmp_path / "store"))
    monkeypatch.setattr("os.fsync", lambda _: None)

    def call(*words: str) -> Said:
        monkeypatch.setattr("sys.argv", ["kepler-train", *words])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out + said.err

    return call


def test_collected_data_train_models_without_prometheus(
    kepler_train: Callable[..., Said], server: str, nodes: list[NodeRun], tmp_path: Path
):
    write_schedule(tmp_path / "schedule.json", nodes, "nx1")
    collected = ("collect", "--id", "nx1", "--server", server, "-fg", "BPFOnly", "--schedule", "schedule.json")
    code, said = kepler_train(*collected)
    assert code == 0, said
    assert f"Stored {tmp_path}/store/nx1/data/2026-11-14: " in said
    code, said = kepler_train(*collected)
    assert (code, said.splitlines()[-1]) == (0, f"{tmp_path}/store/nx1/data/2026-11-14 has the same data already.")
    code, said = kepler_train("data", "list")
    row, count = said.splitlines()[1:]
    assert row.split()[:3] == ["nx1", "2026-11-14", "2026-11-14"]
    assert row.endswith("schedule")
    assert count == f"1 collections at {tmp_path}/store."
    linear = ("--abs-trainers", "LinearRegressionTrainer", "-ot", "AbsPower", "-fg", "BPFOnly", "--gate-mae", "50")
    code, said = kepler_train("retrain", "--id", "nx1", "-p", "again", *linear)
    assert code == 0, said
    assert "retrain: nx1 2026-11-14: " in said
    model = tmp_path / "models/again/rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0/metadata.json"
    assert "cpu" in " ".join(json.loads(model.read_text())["workloads"])  # the loads of the stored schedule
    code, said = kepler_train("data", "pull", "--id", "nx1", "-o", "fetched")
    assert code == 0, said
    assert (tmp_path / "fetched/2026-11-14/schedule.json").exists()
    code, said = kepler_train("validate", "-i", "fetched/2026-11-14/kepler_query", "-fg", "BPFOnly")
    assert code == 0, said


def test_a_query_is_pushed_in_the_form_it_has(
    kepler_train: Callable[..., Said], server: str, tmp_path: Path, nodes: list[NodeRun]
):
    asked = ("query", "--server", server, *WINDOW, "-fg", "BPFOnly", "--format", "json")
    assert kepler_train(*asked)[0] == 0
    code, said = kepler_train("data", "push", "--id", "nx1", "--idle-query", "kepler_query")
    assert code == 0, said
    found = json.loads(kepler_train("data", "list", "--format", "json")[1])["collections"]
    assert [file["path"] for file in found[0]["files"]] == ["idle.json", "kepler_query.json"]
    # The same day with other data: kept, unless they are to be replaced.
    code, said = kepler_train("data", "push", "--id", "nx1")
    assert code == 2
    assert "has other data of nx1 for 2026-11-14, and they are kept" in said
    assert kepler_train("data", "push", "--id", "nx1", "--replace")[0] == 0
    found = json.loads(kepler_train("data", "list", "--id", "nx1", "--format", "json")[1])["collections"]
    assert [file["path"] for file in found[0]["files"]] == ["kepler_query.json"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("data", "pull", "--id", "nx9"), "There are no data of any machine."),
        (("data", "push", "--id", "a/b"), "--id 'a/b' is not the name of a machine"),
        (("data", "list", "--format", "xml"), "--format 'xml': choose table or json."),
        (
            ("collect", "--id", "nx1"),
            "Name the window: --start-time and --end-time, --interval, --schedule, or --stress",
        ),
        (("collect", "--id", "nx1", "--stress", "--interval", "60"), "--stress is the window: leave out"),
        (("collect", "--id", "nx1", "--interval", "60", "--date", "today"), "--date 'today' is not a date"),
        (("retrain", "--id", ",", "-p", "x"), "--id names no machine."),
        (("data", "list", "--store", "gopher://data"), "gopher://data"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(kepler_train: Callable[..., Said], words: tuple[str, ...], said: str):
    code, heard = kepler_train(*words)
    assert code == 2
    assert said in heard
    assert "Traceback" not in heard


def test_several_dates_are_one_training_set(kepler_train: Callable[..., Said], server: str, tmp_path: Path):
    for name, start, end in (("2026-11-14-a", "00:00", "01:00"), ("2026-11-14-b", "01:00", "02:00")):
        window = ("--start-time", f"2026-11-14T{start}:00Z", "--end-time", f"2026-11-14T{end}:00Z")
        code, said = kepler_train(
            "collect", "--id", "nx1", "--server", server, "-fg", "BPFOnly", "--date", name, *window
        )
        assert code == 0, said
    linear = ("--abs-trainers", "LinearRegressionTrainer", "-ot", "AbsPower", "-fg", "BPFOnly", "--gate-mae", "50")
    code, said = kepler_train("retrain", "--id", "nx1", "--date", "all", "-p", "both", "--own-node-type", *linear)
    assert code == 0, said
    model = tmp_path / "models/both/rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0/metadata.json"
    metadata = json.loads(model.read_text())
    assert metadata["window"][0].startswith("2026-11-14T00:00")
    assert metadata["window"][1].startswith(("2026-11-14T01:59", "2026-11-14T02:00"))
    assert [rows > 200 for rows in metadata["inputs"].values()] == [True, True]  # an hour has 240 scrapes of 15 s
