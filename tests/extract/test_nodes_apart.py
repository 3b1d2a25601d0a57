"""Every node has an extract task of its own: what they leave is gathered, and one that fails stops no other."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from simulated import Lab, write_node

from kepler_train.errors import DataError
from kepler_train.extract.frame_files import CONTAINERS_FILE, NODE_FILE, read_node_rows
from kepler_train.extract.write_frames import extract_samples
from kepler_train.isolate.isolation import attributed_file, isolated_node_file
from kepler_train.parts import nodes_of
from kepler_train.runs.registry import STEPS
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

NODES = ["node-0", "node-1"]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An hour of two nodes."""
    return write_node(tmp_path_factory.mktemp("two"), hours=1, nodes=2) / "kepler_query"


def test_frames_and_models_of_nodes_apart_are_those_of_all_at_once(samples: Path, tmp_path: Path) -> None:
    lab, whole = Lab(samples, tmp_path / "w", nodes=NODES), tmp_path / "whole"
    whole.mkdir()
    extract_samples(samples, lab.spec, Schedule(), whole)
    assert lab.do_parts("extract") == []
    for file in (NODE_FILE, CONTAINERS_FILE):
        for node in NODES:
            mine = pd.read_parquet(lab.home / "extract" / node / file)
            every = pd.read_parquet(whole / file)
            pd.testing.assert_frame_equal(mine, every[every["node"] == node].reset_index(drop=True))
    lab.do("isolate")
    rows = pd.read_parquet(lab.home / "isolate" / isolated_node_file("BPFOnly"))
    assert set(rows["node"]) == set(NODES)
    assert set(pd.read_parquet(lab.home / "isolate" / attributed_file("BPFOnly"))["node"]) == set(NODES)
    assert lab.do_parts("train") == []
    trained = [lab.run.manifest("train", part) for part in STEPS["train"].parts(lab.spec)]
    assert [done.figures["rows"] for done in trained if done] == [len(pd.read_parquet(whole / NODE_FILE)), len(rows)]


def test_a_node_that_was_not_there_is_named_and_the_others_go_on(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = Lab(samples, tmp_path, nodes=["node-1", "worker-7"])
    assert "worker-7: no energy counters: nothing is learnt of it." in capsys.readouterr().out
    assert lab.do_parts("extract") == [
        "The samples have no energy counters of the node worker-7, only of node-0, node-1."
    ]
    lab.do("isolate")
    assert "warning: isolate: 1 of 2 parts of extract have no result: worker-7." in capsys.readouterr().out
    assert lab.do_parts("train") == []
    lab.do("evaluate")


def test_a_node_of_which_too_little_is_there_is_named_and_the_others_go_on(samples: Path, tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.mkdir()
    for file in samples.glob("*.parquet"):
        content = pq.read_table(file)
        of_one = [one["label.instance"] == "node-1" for one in content.select(["label.instance"]).to_pylist()]
        rows = content.to_pylist()
        for row, mine in zip(rows, of_one, strict=True):
            if mine:
                row["time"], row["value"] = row["time"][:3], row["value"][:3]
        pq.write_table(type(content).from_pylist(rows, schema=content.schema), short / file.name)
    lab = Lab(short, tmp_path / "w", nodes=NODES)
    assert lab.do_parts("extract") == [
        "Node node-1 has 3 scrapes of its meters, which are too few: choose a longer window."
    ]
    lab.do("isolate")
    assert lab.do_parts("train") == []


def test_a_node_without_a_single_row_is_one_sentence(samples: Path, tmp_path: Path) -> None:
    spec = Lab.asked(nodes=["node-1"], resolution=7200)  # of an hour
    with pytest.raises(DataError, match=r"^Node node-1 has no 7200 s without a gap .* longer window or check"):
        extract_samples(samples, spec, Schedule(), tmp_path)


def test_where_no_node_serves_the_run_ends_before_extraction(samples: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no energy counters of the node worker-7, only of node-0, node-1"):
        Lab(samples, tmp_path, nodes=["worker-7"])


def test_power_that_not_every_node_measures_is_left_out_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for node, components in (("a", ("package", "dram")), ("b", ("package",))):
        (tmp_path / node).mkdir()
        power = {f"rapl-sysfs/{component}_power": [20.0, 30.0] for component in components}
        pd.DataFrame({"node": [node, node]} | power).to_parquet(tmp_path / node / NODE_FILE)
    assert list(read_node_rows(tmp_path).columns) == ["node", "rapl-sysfs/package_power"]
    assert capsys.readouterr().out == "warning: Not every node measures rapl-sysfs/dram: nothing is learnt of them.\n"


def test_a_run_that_names_no_node_has_one_part() -> None:
    assert nodes_of(RunSpec()) == [""]
    assert nodes_of(RunSpec(nodes=["10.0.0.1:9102", "../a b"])) == ["10.0.0.1:9102", "..%2Fa%20b"]
