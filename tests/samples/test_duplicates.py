"""One series for one quantity: what is scraped twice counts once."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import T0, at, series

from kepler_train.samples.duplicates import distinct, duplicated

SOCKET = {"package": "0", "mode": "dynamic", "instance": "node-0", "source": "rapl-sysfs"}


def test_series_of_two_jobs_are_one_quantity() -> None:
    twice = [series([0, 10, 20], job="kepler", **SOCKET), series([0, 10, 20], job="kepler-again", **SOCKET)]
    assert duplicated(twice) == 1
    (one,) = distinct(twice)
    assert one.values.tolist() == [0, 10, 20]


def test_sockets_and_modes_are_different_quantities() -> None:
    parts = [series([0, 1], **SOCKET | {"package": p, "mode": m}) for p in "01" for m in ("idle", "dynamic")]
    assert duplicated(parts) == 0
    assert distinct(parts) == parts


def test_a_replaced_pod_goes_on_in_the_same_series() -> None:
    pods = [series([100, 110, 120], pod="kepler-a", **SOCKET), series([3, 13], start=T0 + 45, pod="kepler-b", **SOCKET)]
    assert duplicated(pods) == 0
    (one,) = distinct(pods)
    assert one.values.tolist() == [100, 110, 120, 3, 13]  # it falls: a reset
    assert np.diff(one.times).tolist() == [15, 15, 15, 15]


def test_a_replaced_pod_may_overlap_the_one_before_for_a_moment() -> None:
    old = series([0, 10, 20, 30, 40], pod="kepler-a", **SOCKET)
    new = series([30, 40, 50, 60], start=T0 + 45, pod="kepler-b", **SOCKET)
    assert duplicated([old, new]) == 1
    (one,) = distinct([old, new])
    assert one.values.tolist() == [0, 10, 20, 30, 40, 50, 60]


def test_another_counter_that_stands_higher_is_no_jump_of_power() -> None:
    short = series([0, 10, 20, 30], job="a", **SOCKET)  # 10 J in 15 s
    old = series([1_000_000, 1_000_010], start=T0 + 60, job="b", **SOCKET)
    (one,) = distinct([short, old])
    assert one.values.tolist() == [0, 10, 20, 30, 0, 10]  # starts again at 0: what lies between is not known
    (gauge,) = distinct([short, old], counter=False)
    assert gauge.values.tolist() == [0, 10, 20, 30, 1_000_000, 1_000_010]


def test_a_counter_of_the_machine_goes_on_across_a_restart_of_its_exporter() -> None:
    before = series([1000, 1010, 1020], job="a", **SOCKET)
    after = series([1030, 1040], start=T0 + 45, job="b", **SOCKET)
    (one,) = distinct([after, before])
    assert one.values.tolist() == [1000, 1010, 1020, 1030, 1040]


def test_a_duplicate_with_more_on_both_sides_fills_in_there() -> None:
    long = series([50, 60, 70, 80, 90, 100], start=T0 + 75, job="a", **SOCKET)  # scrapes 5 to 10
    rare = at(T0 + np.array([0.0, 15, 90, 180, 195]), [0, 10, 60, 120, 130], job="b", **SOCKET)
    (one,) = distinct([rare, long])
    assert one.values.tolist() == [0, 10, 50, 60, 70, 80, 90, 100, 120, 130]


def test_the_pod_of_an_unknown_exporter_is_what_it_measures() -> None:
    pods = [series([0, 1], pod="web", job="cadvisor"), series([0, 2], pod="db", job="cadvisor")]
    assert len(distinct(pods, exporter_pod=False)) == 2
    assert len(distinct(pods)) == 1


@pytest.mark.parametrize("label", ["prometheus_replica", "endpoint", "service", "namespace", "container", "instance"])
def test_labels_of_the_scrape_make_no_new_quantity(label: str) -> None:
    labels = {"node_name": "vm-1", "zone": "package", "path": "/sys/0"}
    assert duplicated([series([0, 1], **labels, **{label: value}) for value in ("a", "b", "c")]) == 2
