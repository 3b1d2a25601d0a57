"""What happens when a process of Airflow starts: the pools that our tasks name are made."""

from __future__ import annotations

from typing import Any

from airflow.listeners import hookimpl

from kepler_airflow.pools import make_pools


@hookimpl
def on_starting(component: Any) -> None:
    """Make the pools before the first task is scheduled: a task of a pool that does not exist waits for ever.

    Scheduler, triggerer and DAG processor are jobs, which do not know yet which one they are. A task is none, and has
    no access to the database.
    """
    if type(component).__name__ == "Job":
        make_pools()
