"""Stress: put the machine that this runs on under load; its time becomes the run's window."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kepler_train.errors import DataError, UserError
from kepler_train.query.find_dialect import find_dialect
from kepler_train.query.prometheus import Prometheus
from kepler_train.samples.metrics import required_metrics
from kepler_train.samples.nodes import own_node
from kepler_train.samples.schedule import SCHEDULE
from kepler_train.spec import RunSpec
from kepler_train.stress.loads import parse_load
from kepler_train.stress.session import StressSession, check_loaded, phase_counts
from kepler_train.workspace import Figures, Inputs

_LOOK_BACK = timedelta(minutes=5)
"""What Prometheus itself takes for the present."""


def stress(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:  # noqa: ARG001  # the plan is the spec
    """Write when which load ran on this machine."""
    node = measured_node(spec)
    session = StressSession()
    plan = session.plan(
        [parse_load(load) for load in spec.stress_args],
        timeout=math.ceil(spec.stress_timeout),
        # The last idle phase also gives Prometheus time to scrape what was measured before it.
        idle=math.ceil(spec.idle_collect_interval),
        break_seconds=spec.stress_break_interval,
        sweep=spec.cpu_frequency_enabled,
    )
    # A part of a schedule is no result of a step, so it is not kept.
    schedule, stopped = session.run(plan, lambda _: None, spec.machine_id, node)
    if stopped:
        raise SystemExit(128 + stopped)  # as a step that is killed by it
    check_loaded(schedule, "the log above")
    (out / SCHEDULE).write_text(schedule.model_dump_json(indent=1), encoding="utf-8")
    return {"node": node, "phases": len(schedule.phases), **phase_counts(schedule)}


def measured_node(spec: RunSpec) -> str:
    """Return the node that Prometheus has for this machine; refuse before the load a run that would learn nothing."""
    server, now = Prometheus(spec.prometheus), datetime.now(UTC)
    recent = spec.model_copy(update={"start": now - _LOOK_BACK, "end": now})
    required = required_metrics(spec, find_dialect(recent, server))
    nodes = {
        own_node(labels, required.node_label)
        for metric in required.energy
        for labels, _ in server.instant(metric, time.time())
    }
    if not nodes:
        raise DataError(
            f"Prometheus at {spec.prometheus} has no energy counters now: check that Kepler is scraped there."
        )
    if not set(spec.nodes) <= nodes or (len(nodes) > 1 and not spec.nodes):
        requested = f", not of {spec.nodes[0]}" if spec.nodes else ""
        raise UserError(
            f"Prometheus at {spec.prometheus} now has energy counters of {', '.join(sorted(nodes))}{requested}:"
            " name the machine that is to be stressed in nodes."
        )
    return spec.nodes[0] if spec.nodes else nodes.pop()
