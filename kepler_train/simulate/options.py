"""The options of `simulate`, checked: lengths of time, moments and amounts."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime

from kepler_train.errors import UserError
from kepler_train.simulate.machine import Machine
from kepler_train.simulate.node import Scenario
from kepler_train.simulate.reading import skew_seconds

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
MOST_TICKS = 20_000_000


def seconds(text: str, option: str) -> float:
    """Return a length of time (s): `2d`, `1h30m`, `1.5h`, or a plain number of seconds."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[smhdw])", text)
    if "".join(number + unit for number, unit in parts) == text and parts:
        length = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    else:
        try:
            length = float(text)
        except ValueError:
            length = 0.0
    if not 0 < length < float("inf"):
        raise UserError(f"{option} {text!r} is not a length of time: write 2d, 6h, 90m or 1200s.")
    return length


def moment(text: str) -> float:
    """Return a Unix time from ISO 8601; a time without zone is UTC."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"--start {text!r} is not a time: write it as 2026-11-14T00:00:00Z.") from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def check_refresh(refresh: float) -> None:
    """Refuse a refresh interval (s) that no exporter has."""
    if refresh and not 0.1 <= refresh <= 600:
        raise UserError(f"--refresh {refresh:g} is out of range: give 0.1 to 600 seconds, or 0 to read at each scrape.")


def scenario(
    *,
    duration: str = "2d",
    start: str = "",
    scrape: float = 15.0,
    seed: int = 0,
    nodes: int = 1,
    containers: int = 12,
    sockets: int = 2,
    cores: int = 8,
    phase: str = "10m",
    idle: str = "10m",
    sweep: bool = False,
    refresh: float = 0.0,
    skew: float = 0.0,
    faults: frozenset[str] = frozenset(),
) -> Scenario:
    """Return the scenario that the options of `simulate` describe."""
    nodes = max(nodes, 2) if "two-nodes" in faults else nodes
    if not scrape >= 0.1:
        raise UserError(f"--scrape {scrape:g} is too short: give at least 0.1 seconds.")
    if not 0 <= seed < 2**63:
        raise UserError(f"--seed {seed} is out of range: give a number from 0.")
    for name, value, least, most in (
        ("nodes", nodes, 1, 1000),
        ("containers", containers, 4, 1000),
        ("sockets", sockets, 1, 16),
        ("cores", cores, 1, 256),
    ):
        if not least <= value <= most:
            raise UserError(f"--{name} {value} is out of range: give {least} to {most}.")
    check_refresh(refresh)
    skew = skew_seconds(skew, faults, scrape)
    if not abs(skew) <= scrape:
        raise UserError(
            f"--skew {skew:g} is out of range: give at most one scrape interval ({scrape:g} s), either way."
        )
    length = seconds(duration, "--duration")
    if length < 4 * scrape:
        raise UserError(f"A history of {length:g} s has fewer than four scrapes of {scrape:g} s: make it longer.")
    checked = Scenario(
        start=0.0,
        duration=length,
        scrape=scrape,
        seed=seed,
        nodes=nodes,
        containers=containers,
        machine=Machine(sockets=sockets, cores_per_socket=cores),
        phase=seconds(phase, "--phase"),
        idle=seconds(idle, "--idle"),
        sweep=sweep,
        refresh=refresh,
        skew=skew,
    )
    if checked.ticks * nodes > MOST_TICKS:
        what = "scrapes" if checked.steps == 1 else "changes of load"
        raise UserError(f"{checked.ticks * nodes:,} {what} do not fit into memory: ask for a shorter history.")
    begin = moment(start) if start else time.time() // scrape * scrape - checked.ticks * checked.tick
    return replace(checked, start=round(begin, 3))
