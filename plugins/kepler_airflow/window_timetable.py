"""When a training DAG runs by itself: at the end of every window, and never at once when somebody unpauses it."""

from __future__ import annotations

from datetime import timedelta

from airflow._shared.timezones.timezone import utcnow
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable

_LATE = timedelta(minutes=10)
"""A run that is due may be created this much later, while Airflow reads files or is started again."""


class WindowTimetable(CronDataIntervalTimetable):
    """Windows between the times of a cron expression.

    Airflow's own timetable runs the newest window as soon as a DAG is unpaused, so that the first trigger in the UI,
    which unpauses it, would start two runs. Here a DAG that was paused waits for the end of the window that is open. A
    window that directly follows the last one is run however late it is: then it was Airflow that did not run.
    """

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """Return the next window, and when its run is due."""
        info = super().next_dagrun_info(
            last_automated_data_interval=last_automated_data_interval, restriction=restriction
        )
        if info is None or restriction.catchup or info.data_interval.end > utcnow() - _LATE:
            return info
        last = last_automated_data_interval
        if last is not None and last.end >= info.data_interval.start:
            return info
        return super().next_dagrun_info(last_automated_data_interval=info.data_interval, restriction=restriction)
