"""Pools: what keeps everything else of ours off a machine while it is stressed, since all of it is measured."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

MACHINE_POOL, STRESS_POOL = "kepler_machine", "kepler_stress"
MACHINE_SLOTS = 128
"""Slots of the machine that local steps share. Each takes one, and the load takes all: it waits for the others to end,
and no other begins before its own end. How many run at once is for Airflow's parallelism to say."""

_POOLS = {
    MACHINE_POOL: (MACHINE_SLOTS, "Steps of kepler-train on this machine; the load of a stress step takes all slots."),
    STRESS_POOL: (1, "Stress steps of kepler-train as pods: one at a time."),
}


def pool_of(step: str, runtime: str) -> dict[str, Any]:
    """Return the arguments of a task that place it in its pool."""
    if runtime == "local":
        return {"pool": MACHINE_POOL, **({"pool_slots": MACHINE_SLOTS} if step == "stress" else {})}
    return {"pool": STRESS_POOL} if step == "stress" else {}


def make_pools() -> None:
    """Make the pools that are missing; those that are there keep the size that somebody gave them."""
    from airflow.models.pool import Pool
    from sqlalchemy.exc import IntegrityError

    for name, (slots, description) in _POOLS.items():
        if Pool.get_pool(name) is None:
            with suppress(IntegrityError):  # another process, which starts now too, was quicker
                Pool.create_or_update_pool(name, slots, description, include_deferred=False)
