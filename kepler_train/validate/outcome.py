"""The verdict on samples, as it is stored: what was collected, what is wrong with it, which groups are valid."""

from __future__ import annotations

import json
from pathlib import Path

from kepler_train.records import Record, read_record
from kepler_train.validate.findings import Finding
from kepler_train.validate.metric_health import MetricHealth
from kepler_train.validate.node_health import NodeHealth

VERDICT = "verdict.json"


class GroupVerdict(Record):
    """Whether a feature group is valid on every node that can serve; by node what is missing, and why it is not."""

    valid: bool
    missing: dict[str, list[str]]
    reasons: dict[str, str]
    left_out: dict[str, list[str]]  # features that the group can do without, by their sets


class Verdict(Record):
    """The health of every node and of every metric on it; docs/commands.md describes the entries."""

    dialect: str
    nodes: list[str]
    health: dict[str, NodeHealth]
    groups: dict[str, GroupVerdict]
    warnings: list[Finding]
    metrics: dict[str, dict[str, MetricHealth]]

    @classmethod
    def read(cls, file: Path) -> Verdict:
        """Read what `write` wrote."""
        return read_record(cls, file.read_bytes(), str(file))

    def write(self, file: Path) -> None:
        """Write the verdict as JSON."""
        file.write_text(json.dumps(self.content(), indent=1, allow_nan=False), encoding="utf-8")

    def unusable(self, node: str) -> str:
        """Return why nothing can be learnt from a node, as a sentence; empty when it can serve or is not known."""
        reason = self.health[node].unusable if node in self.health else ""
        return f"{reason[0].upper()}{reason[1:]}." if reason else ""
