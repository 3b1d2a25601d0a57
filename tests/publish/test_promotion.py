"""Champion and challenger: which version becomes `latest`, and what is said of one that does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train.evaluate.comparison import Compared, Comparison
from kepler_train.evaluate.paired import Difference, difference_of_workloads
from kepler_train.model_key import Family
from kepler_train.publish.promotion import Candidate, decide

ABS, DYN = (Family("rapl-sysfs", kind, "BPFOnly") for kind in ("AbsPower", "DynPower"))
NOW = Candidate("20261113T000000Z-1", frozenset({ABS}), 240, 4)
NEW = Candidate("20261114T000000Z-2", frozenset({ABS}), 240, 4)


def difference(now: float, new: float, spread: float) -> Difference:
    low, high = new - now - spread, new - now + spread
    return Difference(
        champion=now, challenger=new, low=low, high=high, units=6, unit="workload", rows=240, worse=low > 0
    )


def compared(**components: Difference) -> Comparison:
    models = {"rapl-sysfs/AbsPower": Compared(champion="BPFOnly/A", challenger="BPFOnly/B", differences=components)}
    return Comparison(champion=NOW.version, models=models)


def test_a_version_within_the_noise_becomes_the_latest():
    assert decide(NEW, NOW, compared(package=difference(3.0, 3.4, 0.6))) == (
        True,
        "It is not worse than 20261113T000000Z-1 beyond the noise: package of rapl-sysfs/AbsPower 3.40 W against"
        " 3.00 W, difference -0.20 to +1.00 W over 6 workloads.",
    )


def test_a_version_that_is_worse_in_one_component_is_held_back():
    both = compared(package=difference(3.0, 2.0, 0.1), dram=difference(1.0, 1.5, 0.2))
    assert decide(NEW, NOW, both) == (
        False,
        "It is worse than 20261113T000000Z-1 beyond the noise: dram of rapl-sysfs/AbsPower 1.50 W against 1.00 W,"
        " difference +0.30 to +0.70 W over 6 workloads.",
    )


@pytest.mark.parametrize(
    ("promote", "champion", "promoted", "reason"),
    [
        ("always", NOW, True, "It was not compared with the version before, as promote is always."),
        ("never", NOW, False, "It is stored only, as promote is never."),
        ("never", None, False, "It is stored only, as promote is never."),
        ("never", NEW, True, "It is the latest version already."),
        ("better", None, True, "It is the first version."),
        ("better", NEW, True, "It is the latest version already."),
    ],
)
def test_what_needs_no_comparison(promote: str, champion: Candidate | None, promoted: bool, reason: str):
    worse = compared(package=difference(1.0, 9.0, 0.1))
    assert decide(NEW, champion, worse, promote) == (promoted, reason)


def test_readers_miss_nothing_that_they_had():
    both = Candidate(NOW.version, frozenset({ABS, DYN}), 240, 4)
    better = compared(package=difference(3.0, 1.0, 0.1))
    assert decide(NEW, both, better) == (
        False,
        "It has no model of rapl-sysfs/DynPower/BPFOnly, which 20261113T000000Z-1 has.",
    )
    assert decide(Candidate(NEW.version, both.families, 240, 4), NOW, better).promoted  # more is welcome


def test_a_version_of_too_little_data_is_held_back_unless_it_is_the_first():
    better = compared(package=difference(3.0, 1.0, 0.1))
    few = Candidate(NEW.version, NOW.families, 59, 4)
    assert decide(few, NOW, better) == (False, "It has learnt from 59 rows only, and takes 60 to become the latest.")
    alone = Candidate(NEW.version, NOW.families, 240, 1)
    assert decide(alone, NOW, better) == (False, "It has met 1 workload only, and takes 2 to become the latest.")
    assert decide(few, None, None).promoted


def test_what_cannot_be_compared_becomes_the_latest_and_says_so():
    assert decide(NEW, NOW, None) == (True, "It could not be compared with 20261113T000000Z-1: it cannot be read.")
    unknown = Comparison(champion=NOW.version, models={"rapl-sysfs/AbsPower": Compared(unknown="no row is new")})
    assert decide(NEW, NOW, unknown).reason.endswith(": no row is new.")


ERRORS = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.1, 100), min_size=5)


@settings(max_examples=40)
@given(ERRORS)
def test_an_equal_version_is_never_held_back(errors: dict[str, float]):
    assert decide(NEW, NOW, compared(package=difference_of_workloads(errors, errors, 0.9, 240))).promoted


@settings(max_examples=40)
@given(ERRORS, st.floats(1.021, 10))
def test_a_version_that_is_worse_under_every_load_is_always_held_back(errors: dict[str, float], times: float):
    worse = {name: watts * times for name, watts in errors.items()}
    found = difference_of_workloads(errors, worse, 0.9, 240)
    assert not decide(NEW, NOW, compared(package=found)).promoted
