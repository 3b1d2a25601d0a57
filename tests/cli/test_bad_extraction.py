"""Data that cannot serve: one sentence and the exit code of data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from handmade import T0, at, written

from kepler_train.samples.parquet import Series

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]


def node(scrapes: int, *features: str) -> dict[str, list[Series]]:
    """A legacy node with a meter of 40 W and these features of one container."""
    grid = T0 + 15.0 * np.arange(scrapes)
    made = {
        "kepler_node_package_joules_total": [
            at(grid, 40 * (grid - T0), instance="n", package="0", mode="dynamic", source="rapl-sysfs")
        ]
    }
    for feature in features:
        metric = f"kepler_container_{feature}_total"
        made[metric] = [at(grid, 100 * (grid - T0), instance="n", container_id="a")]
    return made


BPF = ("bpf_cpu_time_ms", "bpf_page_cache_hit")


@pytest.mark.parametrize(
    ("scrapes", "features", "arguments", "sentence"),
    [
        (1, BPF, "extract", "Node n has 1 scrapes of its meters, which are too few: choose a longer window."),
        (2, BPF, "extract", "Node n has 2 scrapes of its meters, which are too few: choose a longer window."),
        (40, BPF, "extract -fg CounterOnly", "No data for feature group CounterOnly on node n: kepler_container_cache"),
        (40, BPF, "extract -fg KubeletOnly", "No data for feature group KubeletOnly on node n"),
        (40, BPF, "extract -fg Full --vm-train", "has no energy counters of rapl-sysfs for virtual machines"),
        (40, BPF, "extract -e acpi", "has no energy counters of acpi: choose a source that was collected."),
        (40, ("cpu_cycles",), "validate", "No feature group has all its features"),
        (40, ("cpu_cycles",), "extract -fg WorkloadOnly", "No data for feature group WorkloadOnly on node n"),
        (40, BPF, "train -p mine -fg Basic", "No data for feature group Basic on node n"),
    ],
)
def test_what_the_data_do_not_have_is_one_sentence_and_exit_code_3(
    scrapes: int, features: tuple[str, ...], arguments: str, sentence: str, kepler_train: KeplerTrain, tmp_path: Path
) -> None:
    written(tmp_path / "kepler_query", node(scrapes, *features))
    before = sorted(tmp_path.rglob("*"))
    code, _, errors = kepler_train(*arguments.split())
    assert (code, len(errors)) == (3, 1)
    assert sentence in errors[0]
    assert [path for path in sorted(tmp_path.rglob("*")) if path.is_file() and path not in before] == []
