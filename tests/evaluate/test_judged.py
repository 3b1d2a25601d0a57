"""Held-out rows as columns, and as a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.evaluate.judged import Coded, HeldOut

NAMES = st.lists(st.sampled_from(["cpu", "idle", "vm", "häufig, <odd>"]), min_size=1, max_size=30)


def rows(workloads: list[str]) -> pd.DataFrame:
    """A row of package and one of dram under each protocol for each of the workloads."""
    times = pd.date_range("2026-11-14", periods=len(workloads), freq="3s", tz="UTC")
    one = pd.DataFrame({"time": times, "node": "a", "workload": workloads, "measured": np.arange(len(workloads)) + 0.5})
    return pd.concat(
        [one.assign(protocol=protocol, component=name) for protocol in ("blocked", "forward") for name in ("z", "a")],
        ignore_index=True,
    )


@given(NAMES)
def test_a_file_gives_back_the_rows_that_were_written(workloads: list[str]) -> None:
    table = rows(workloads)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "held_out.parquet")
        HeldOut.of(table).write(file)
        back, seen = HeldOut.read(file).frame(), pd.read_parquet(file)
    for found in (back, seen):
        assert found[list(table.columns)].astype(object).equals(table.astype(object))


def test_its_pieces_are_every_protocol_and_component_in_the_order_of_the_rows() -> None:
    found = HeldOut.of(rows(["cpu", "vm", "cpu"])).pieces
    assert [(piece.protocol, piece.component, piece.rows.tolist()) for piece in found] == [
        ("blocked", "z", [0, 1, 2]),
        ("blocked", "a", [3, 4, 5]),
        ("forward", "z", [6, 7, 8]),
        ("forward", "a", [9, 10, 11]),
    ]


def test_a_name_that_no_row_has_equals_none() -> None:
    loads = Coded.of(pd.Series(["vm", "cpu", "vm"]))
    assert loads.equal("vm").tolist() == [True, False, True]
    assert not loads.equal("idle").any()
