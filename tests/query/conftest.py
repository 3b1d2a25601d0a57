"""A recording whose every sample is known, and what a query made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from known_samples import END, START

from kepler_train.simulate.history import exported
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.store import SampleStore, store_of
from kepler_train.spec import RunSpec


@pytest.fixture(scope="session")
def recording(two_nodes: list[NodeRun]) -> list[Any]:
    """Eight hours of two nodes, with everything that befalls a scrape."""
    return exported(two_nodes, "legacy", ["rapl-sysfs", "acpi"], frozenset({"gap", "reset", "late", "restart"}), seed=3)


@pytest.fixture(scope="session")
def store(recording: list[Any]) -> SampleStore:
    return store_of(recording)


@pytest.fixture
def spec() -> Callable[..., RunSpec]:
    def make(url: str, start: float = START, end: float = END, **more: Any) -> RunSpec:
        asked = {"prometheus": url, "start": start, "end": end, "energy_sources": "rapl-sysfs,acpi"}
        return RunSpec.model_validate(asked | more)

    return make
