"""Which window a run has: what the user asked for, else the data interval, else the time just before now."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.plan.window import Due, check_kind, plan_window, settle, why_window
from kepler_train.spec import RunSpec, read_spec
from kepler_train.workspace import Run, open_store

NOW = datetime(2026, 11, 14, 12, tzinfo=UTC)
NIGHT = (datetime(2026, 11, 13, tzinfo=UTC), datetime(2026, 11, 14, tzinfo=UTC))
HOUR = timedelta(hours=1)


def spec(**fields: object) -> RunSpec:
    return RunSpec.model_validate(fields)


def test_start_and_end_of_the_user_win_over_the_interval():
    asked = spec(start=NOW - 3 * HOUR, end=NOW - HOUR)
    assert plan_window(asked, NOW, NIGHT) == (NOW - 3 * HOUR, NOW - HOUR)


def test_half_a_window_is_completed_by_its_length_but_not_beyond_now():
    assert plan_window(spec(start=NOW - 5 * HOUR, window_seconds=3600), NOW, NIGHT) == (NOW - 5 * HOUR, NOW - 4 * HOUR)
    assert plan_window(spec(start=NOW - HOUR, window_seconds=7200), NOW, NIGHT) == (NOW - HOUR, NOW)
    assert plan_window(spec(end=NOW - HOUR, window_seconds=7200), NOW, NIGHT) == (NOW - 3 * HOUR, NOW - HOUR)


def test_without_a_wish_the_window_is_the_data_interval_else_the_day_before_now():
    assert plan_window(spec(), NOW, NIGHT) == NIGHT
    assert plan_window(spec(), NOW, (NOW, NOW)) == (NOW - 24 * HOUR, NOW)  # a manual run's interval has no length
    assert plan_window(spec(), NOW) == (NOW - 24 * HOUR, NOW)
    assert plan_window(spec(window_seconds=1800), NOW) == (NOW - HOUR / 2, NOW)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"start": NOW + HOUR}, "in the future, from 2026-11-14 13:00:00 UTC"),
        ({"start": NOW - HOUR, "end": NOW + HOUR}, "in the future.*it is 2026-11-14 12:00:00 UTC now"),
        ({"start": NOW, "end": NOW}, "has no length: it starts at 2026-11-14 12:00:00 UTC and ends at 2026-11-14 12"),
        ({"start": NOW - HOUR, "end": NOW - 2 * HOUR}, "has no length"),
        ({"window_seconds": 1e-9}, "has no length"),
        ({"window_seconds": 1e12}, "beyond the calendar: 1e[+]12 s"),
        ({"window_seconds": float("inf")}, "beyond the calendar|finite"),
    ],
)
def test_a_window_that_cannot_be_is_one_sentence(fields: dict[str, object], said: str):
    with pytest.raises(UserError, match=said):
        plan_window(read_spec(fields), NOW)


TIMES = st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1))  # noqa: DTZ001, RUF100


@given(
    start=st.none() | TIMES,
    end=st.none() | TIMES,
    seconds=st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False),
    now=TIMES,
    interval=st.none() | st.tuples(TIMES, TIMES),
)
@example(start=None, end=NOW, seconds=1e300, now=NOW, interval=None)
def test_a_window_starts_before_it_ends_and_ends_by_now_or_is_refused(start, end, seconds, now, interval):
    asked = spec(start=start, end=end, window_seconds=seconds)
    try:
        window = plan_window(asked, now, interval)
    except UserError:
        return
    assert window[0] < window[1] <= now
    assert start in (None, window[0])
    assert end in (None, window[1])
    if start is None and end is None and interval is not None and interval[0] < interval[1]:
        assert window == interval


def test_a_run_that_names_load_phases_and_nothing_else_learns_from_their_time(tmp_path: Path):
    schedule = tmp_path / "stress.json"
    phases = [
        {"load": "idle", "start": "2026-11-14T08:00:00Z", "end": "2026-11-14T08:10:00Z"},
        {"load": "cpu", "start": "2026-11-14T08:10:00Z", "end": "2026-11-14T09:00:00Z"},
    ]
    schedule.write_text(json.dumps({"phases": phases}))
    run = Run.named(open_store(str(tmp_path / "w")), "lab/1")
    window = (NOW - 4 * HOUR, NOW - 3 * HOUR)

    def settled(interval: tuple[datetime, datetime] | None, **more: object) -> tuple[datetime, datetime]:
        return settle(spec(schedule=str(schedule), **more), run, Due(NOW, interval)).window

    assert settled(None) == window
    assert settled((NOW, NOW)) == window  # as Airflow gives a manual run
    assert settled(NIGHT) == NIGHT
    assert settled(None, start=NOW - 2 * HOUR, end=NOW) == (NOW - 2 * HOUR, NOW)
    chosen = Due(NOW, None, "manual", before=NOW - HOUR, last=True)  # window_seconds and a logical date
    asked = spec(schedule=str(schedule), window_seconds=3600)
    assert settle(asked, run, chosen).window == (NOW - 2 * HOUR, NOW - HOUR)
    assert settle(spec(start=NOW - HOUR / 2, end=NOW), run, chosen).window == (NOW - HOUR / 2, NOW)  # after that date


def test_a_logical_date_in_the_future_is_no_window_in_the_future():
    assert plan_window(spec(window_seconds=3600), NOW, None, NOW + HOUR) == (NOW - HOUR, NOW)


@pytest.mark.parametrize("kind", ["backfill", "scheduled"])
@pytest.mark.parametrize("name", ["start", "end"])
def test_a_window_for_all_runs_of_a_backfill_or_schedule_is_refused(kind, name):
    with pytest.raises(UserError, match="learns from its own window, and start or end would make all learn the same"):
        check_kind(spec(**{name: NOW - HOUR}), kind)
    check_kind(spec(**{name: NOW - HOUR}), "manual")
    check_kind(spec(), kind)


def test_a_backfill_does_not_stress_the_machine():
    with pytest.raises(UserError, match="A backfill learns from the past"):
        check_kind(spec(stress=True), "backfill")
    check_kind(spec(stress=True), "scheduled")


@pytest.mark.parametrize(
    ("asked", "interval", "scheduled", "why"),
    [
        ({"start": NOW - HOUR, "end": NOW}, NIGHT, True, "as start and end say"),
        ({"end": NOW}, None, False, "as end and window_seconds say"),
        ({}, NIGHT, True, "the data interval of the run"),
        ({}, NIGHT, False, "the time of the load phases in schedule"),
        ({"window_seconds": 7200}, None, False, "the last 7,200 s (window_seconds) before the run was due"),
    ],
)
def test_the_plan_says_why_it_took_the_window(asked, interval, scheduled, why):
    assert why_window(spec(**asked), interval, scheduled) == why
