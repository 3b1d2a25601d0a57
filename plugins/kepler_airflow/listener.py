"""What happens when a process of Airflow starts: the pools that our tasks name are made."""

from __future__ import annotations

from typing import Any

from airflow.listeners import hookimpl

from kepler_airflow.pools import make_pools


@hookimpl
def on_starting(component: Any) -> None:  # noqa: ARG001  # it does not know yet whether it is the scheduler
    """Make the pools before the first task is scheduled: a task of a pool that does not exist waits for ever."""
    make_pools()
