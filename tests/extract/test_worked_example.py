"""The worked example of docs/extraction.md, read from the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from node_frames import NodeFrames, node_frames

from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import schema, table
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extraction.md"
START = 1_794_614_400  # 2026-11-14T00:00:00Z is t = 0
FEATURE, POWER = "bpf_cpu_time_ms", "rapl-sysfs/package_power"
CONTAINERS = ("A", "B", "C")


def tables() -> list[list[dict[str, str]]]:
    """The tables of the section, a dictionary per row."""
    section = PAGE.read_text().partition("## Worked example")[2].partition("\n## ")[0]
    found: list[list[dict[str, str]]] = []
    for block in section.split("\n\n"):
        if block.startswith("|"):
            head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
            found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


SCRAPES, ROWS = tables()


def samples(labels: dict[str, str], column: str) -> DecodedSeries:
    seen = [(int(row["t"]), float(row[column])) for row in SCRAPES if row[column] != "–"]
    times, values = zip(*seen, strict=True)
    return DecodedSeries(labels, 1000 * (START + np.array(times, dtype=np.int64)), np.array(values))


def write(folder: Path, metric: str, many: list[DecodedSeries]) -> None:
    columns = schema(metric, many[0].labels)
    pq.write_table(table(many, columns), folder / f"{metric}.parquet")


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> NodeFrames:
    folder = tmp_path_factory.mktemp("example")
    meter = {"instance": "n", "source": "rapl-sysfs", "package": "0"}
    energy = [samples({**meter, "mode": mode}, mode) for mode in ("idle", "dynamic")]
    write(folder, "kepler_node_package_joules_total", energy)
    names = ("container_id", "pod_name", "container_name", "container_namespace")
    work = [samples({"instance": "n", **dict.fromkeys(names, one)}, one) for one in CONTAINERS]
    write(folder, f"kepler_container_{FEATURE}_total", work)
    spec = RunSpec(feature_groups=["BPFOnly"])
    return node_frames(folder, spec, "legacy", Schedule())["n"]


def test_the_page_has_both_tables() -> None:
    assert (len(SCRAPES), len(ROWS)) == (8, 5)


def test_rows_of_the_node_are_those_of_the_page(frames: NodeFrames) -> None:
    ends = frames.node["time"].dt.as_unit("ms").astype("int64") / 1000 - START
    assert ends.tolist() == [int(row["window"].partition("–")[2]) for row in ROWS]
    assert frames.node[POWER].tolist() == pytest.approx([float(row["power (W)"]) for row in ROWS])
    assert frames.node[FEATURE].tolist() == pytest.approx([float(row["node (ms/s)"]) for row in ROWS])
    assert frames.dropped == 4


def test_rows_of_containers_are_those_of_the_page(frames: NodeFrames) -> None:
    by_name = dict(list(frames.containers.groupby("container", observed=True)))
    for one in CONTAINERS:
        own = by_name["/".join([one] * 4)]
        ends = own["time"].dt.as_unit("ms").astype("int64") / 1000 - START
        found = dict(zip(ends.tolist(), own[FEATURE].tolist(), strict=True))
        expected = {int(row["window"].partition("–")[2]): float(row[one]) for row in ROWS if row[one] != "–"}
        assert found == pytest.approx(expected)


def test_the_sums_of_the_page_are_right() -> None:
    in_rows = sum(float(row["A"]) * float(row["seconds"]) for row in ROWS)
    counted = [float(row["A"]) for row in SCRAPES]
    at_reset = max(counted)
    assert in_rows == 31000
    assert in_rows + 600 + 8400 == counted[-1] - counted[0] + at_reset == 40000
