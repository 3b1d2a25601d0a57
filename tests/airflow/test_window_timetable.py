"""When a training DAG runs by itself."""

from datetime import UTC, datetime, timedelta

import pytest
from airflow.timetables.base import DataInterval, TimeRestriction

from kepler_airflow import window_timetable
from kepler_airflow.window_timetable import WindowTimetable

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
NIGHT = datetime(2026, 11, 18, 2, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def next_window(monkeypatch):
    """The next window of a nightly DAG at some time, after a last one that ended before."""
    import pendulum

    def ask(now, last_end=None, catchup=False):
        moment = pendulum.instance(now)
        monkeypatch.setattr(window_timetable, "utcnow", lambda: moment)
        monkeypatch.setattr("airflow.timetables.interval.utcnow", lambda: moment)
        last = DataInterval(pendulum.instance(last_end - DAY), pendulum.instance(last_end)) if last_end else None
        restriction = TimeRestriction(pendulum.datetime(2026, 11, 1, 2), None, catchup)
        timetable = WindowTimetable("0 2 * * *", timezone="UTC")
        info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction)
        return info.data_interval.start, info.data_interval.end

    return ask


def test_a_dag_that_is_unpaused_for_the_first_time_waits_for_the_coming_night(next_window):
    assert next_window(NOON) == (NIGHT, NIGHT + DAY)


def test_a_dag_that_was_paused_for_a_week_waits_for_the_coming_night(next_window):
    assert next_window(NOON, last_end=NIGHT - 7 * DAY) == (NIGHT, NIGHT + DAY)


def test_a_night_that_airflow_missed_is_run_when_it_is_back(next_window):
    assert next_window(NOON, last_end=NIGHT - DAY) == (NIGHT - DAY, NIGHT)


@pytest.mark.parametrize("last_end", [None, NIGHT - 7 * DAY])
def test_a_night_that_has_just_ended_is_run_although_it_is_the_first(next_window, last_end):
    assert next_window(NIGHT + timedelta(seconds=30), last_end) == (NIGHT - DAY, NIGHT)


def test_a_night_that_was_run_is_followed_by_the_next(next_window):
    assert next_window(NOON, last_end=NIGHT) == (NIGHT, NIGHT + DAY)


def test_a_backfill_gets_every_window(next_window):
    assert next_window(NOON, last_end=NIGHT - 7 * DAY, catchup=True) == (NIGHT - 7 * DAY, NIGHT - 6 * DAY)
