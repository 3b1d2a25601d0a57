"""Days of a simulated node: OpenMetrics text, the truth behind it, and the schedule it ran."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kepler_train.errors import UserError, unknown_name
from kepler_train.simulate.faults import scrapes
from kepler_train.simulate.kepler_current import current_families
from kepler_train.simulate.kepler_legacy import legacy_families
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.node_exporter import OFFSET_SECONDS, node_exporter_families
from kepler_train.simulate.openmetrics import write_openmetrics
from kepler_train.simulate.reading import reading_of
from kepler_train.simulate.schedule import phase_records
from kepler_train.simulate.series import Metric, Scrapes
from kepler_train.simulate.variant import USUAL, Variant
from kepler_train.simulate.whole_files import replacing

DIALECTS = {"legacy": legacy_families, "current": current_families}
SECOND_JOB = "kubernetes-pods"
SOURCES = ("rapl-sysfs", "rapl-msr", "acpi", "hmc", "redfish")


@dataclass(frozen=True)
class Written:
    """The size of a history file."""

    series: int
    samples: int
    bytes: int


def exported(
    runs: Sequence[NodeRun],
    dialect: str,
    sources: Sequence[str],
    faults: frozenset[str],
    seed: int,
    variant: Variant = USUAL,
) -> list[tuple[Scrapes, list[Metric]]]:
    """Return for each exporter when it was scraped, and the curves that it showed."""
    check_names(dialect, sources)
    exporters = []
    for index, run in enumerate(runs):
        shown = without_uncore(run) if "zero-power" in faults else run
        families = DIALECTS[dialect](shown, sources, variant)
        generators = (np.random.default_rng([seed, index, stream]) for stream in (1, 2, 3))
        edges = run.scrape_edges
        exporters.append((scrapes(edges, faults, next(generators), 0.0, reading_of(run, faults)), families))
        if "duplicate" in faults:
            offset = 0.2 * run.scrape
            second_scrapes = scrapes(edges, faults, next(generators), offset, reading_of(run, faults, offset))
            exporters.append((second_scrapes, [_of_second_job(family) for family in families]))
        if variant.node_exporter:
            offset = min(OFFSET_SECONDS, 0.47 * run.scrape)
            beside = scrapes(edges, faults - {"restart"}, next(generators), offset)  # Kepler's restart is not its own
            exporters.append((beside, node_exporter_families(run)))
    return exporters


def _of_second_job(family: Metric) -> Metric:
    curves = [replace(curve, labels=curve.labels | {"job": SECOND_JOB}) for curve in family.curves]
    return Metric(family.name, family.kind, curves)


def check_names(dialect: str, sources: Sequence[str]) -> None:
    """Refuse a dialect or an energy source that Kepler does not have."""
    if dialect not in DIALECTS:
        raise UserError(unknown_name("dialect", dialect, DIALECTS))
    for source in sources:
        if source not in SOURCES:
            raise UserError(unknown_name("energy source", source, SOURCES))
    if len({"rapl" in source for source in sources}) < len(sources):
        raise UserError("--source names two meters of the same kind; give one with rapl and one without.")


def without_uncore(run: NodeRun) -> NodeRun:
    """Return the same node with an uncore meter that stays at 0."""
    nothing = {"uncore": np.zeros_like(run.energy["uncore"])}
    none_active = {"uncore": np.zeros_like(run.active_energy["uncore"])}
    return replace(
        run,
        energy=run.energy | nothing,
        idle_energy=run.idle_energy | nothing,
        active_energy=run.active_energy | none_active,
    )


def write_history(path: Path, nodes: Iterable[tuple[Scrapes, list[Metric]]]) -> Written:
    """Write the OpenMetrics file, whole or not at all; return its size."""
    with replacing(path) as beside:
        with beside.open("w", encoding="utf-8", buffering=1 << 20) as out:
            series, samples = write_openmetrics(out, nodes)
        size = beside.stat().st_size
    return Written(series, samples, size)


def write_schedule(path: Path, runs: Sequence[NodeRun], machine_id: str) -> int:
    """Write the phases of every node and the machine that all of them are as JSON; return how many phases."""
    phases = [record for run in runs for record in phase_records(run.name, run.edges, run.phases)]
    machine = {"machine_id": machine_id, "machine": runs[0].machine.spec()}
    with replacing(path) as beside:
        beside.write_text(json.dumps(machine | {"phases": phases}, indent=1) + "\n")
    return len(phases)
