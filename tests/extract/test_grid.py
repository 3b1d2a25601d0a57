"""Faults, churn, nodes, packages, scrape and refresh intervals and dialects, every two of them together at least once.

`python tests/extract/cells.py` goes through all 1,920 combinations.
"""

from __future__ import annotations

import numpy as np
import pytest
from cells import (
    AXES,
    HOUR,
    Cell,
    Kept,
    Recording,
    additivity_error,
    conservation_error,
    grid,
    pairwise_cells,
    power_errors,
    recorded,
    work_error,
)

PAIRS = pairwise_cells()
# Gauges of an exporter that is scraped more often than it reads once looked like a lag of its counters.
HELD = [
    Cell(True, False, False, True, 1, 1, 1.0, 5.0, "current"),
    Cell(True, False, True, True, 1, 1, 1.0, 3.0, "current"),
    Cell(True, False, True, True, 2, 2, 3.0, 5.0, "current"),
]
CELLS = [*PAIRS, *(cell for cell in HELD if cell not in PAIRS)]


@pytest.fixture(scope="module", params=CELLS, ids=[cell.name for cell in CELLS])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded(request.param, tmp_path_factory.mktemp("cell"))


def test_few_cells_hold_every_pair_of_values() -> None:
    assert len(grid()) == 2**7 * 5 * 3
    assert len(PAIRS) < 30
    names = list(AXES)
    for first in names:
        for second in names[names.index(first) + 1 :]:
            met = {(getattr(cell, first), getattr(cell, second)) for cell in PAIRS}
            assert len(met) == len(AXES[first]) * len(AXES[second])


def test_power_of_every_window_is_what_the_meter_metered(recording: Recording) -> None:
    for number in range(recording.cell.nodes):
        errors = power_errors(recording, number)
        assert errors.max(axis=None) < 0.01, errors.idxmax()


def test_windows_are_lost_to_faults_only(recording: Recording) -> None:
    cell = recording.cell
    for name in recording.extracted:
        kept = Kept.of(recording, name)
        assert (kept.starts[1:] >= kept.ends[:-1]).all()
        longest = kept.seconds.max()
        # A gap of six minutes, two missing scrapes or a reset each cost that time and the windows they touch; the
        # exporter shows nothing before its first two readings, and the last window may not be full.
        lost = 3 * cell.gap * (360 + 2 * longest) + 2 * cell.restart * (3 * cell.scrape + cell.refresh + 2 * longest)
        lost += 2 * cell.reset * 2 * longest + 2 * cell.refresh + cell.scrape + longest
        assert kept.seconds.sum() >= HOUR - lost
        clock = np.round(recording.shown[list(recording.extracted).index(name)][0].recorded, 3)
        missing = (clock[-1] - clock[0] - kept.seconds.sum()) / np.median(kept.seconds)
        assert abs(recording.extracted[name].dropped - missing) <= 0.5


def test_what_counters_gained_is_in_the_windows_container_by_container(recording: Recording) -> None:
    for number in range(recording.cell.nodes):
        assert conservation_error(recording, number) < 1e-12


def test_the_work_of_the_node_is_what_its_containers_did(recording: Recording) -> None:
    for number in range(recording.cell.nodes):
        assert work_error(recording, number) <= 1


def test_containers_add_up_to_the_node(recording: Recording) -> None:
    for name in recording.extracted:
        assert additivity_error(recording, name) < 1e-9
