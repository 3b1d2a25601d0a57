"""Series that are exported beyond the usual ones, on request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """Additions to a node's series; none of them changes the others or the truth."""

    container_seconds: bool = False  # current: kepler_container_cpu_seconds_total, which came after 0.11.4
    process_energy: bool = False  # current: joules and watts of every process and zone, most of a real scrape
    package_ratio: bool = False  # legacy: kepler_container_cpu_usage_per_package_ratio
    node_exporter: bool = False  # a node_exporter beside Kepler, scraped at moments of its own


USUAL = Variant()
