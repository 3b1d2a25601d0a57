"""Which feature groups are complete on a node, and what the others lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kepler_train.catalog import catalog
from kepler_train.collect.wanted import feature_metrics
from kepler_train.spec import RunSpec

# Names in a reason; a longer list is in the JSON.
_NAMED = 3


@dataclass(frozen=True)
class GroupState:
    """Whether a group can be trained on one node."""

    missing: list[str]  # features without data, by the metrics that would hold them
    unknown: list[str]  # features that this dialect of Kepler does not have
    constant: bool  # no feature of the group ever changes

    @property
    def valid(self) -> bool:
        """A group is valid when every feature has data, and one of them says something."""
        return not (self.missing or self.unknown or self.constant)

    def reason(self, versions: str) -> str:
        """Why the group is not valid, in few words; empty when it is."""
        if self.unknown:
            return f"Kepler {versions} does not export it"
        if self.missing:
            return f"{_listed(self.missing)} missing"
        return "none of its features ever changes" if self.constant else ""


def group_state(spec: RunSpec, group: str, dialect_name: str, moved: Mapping[str, bool]) -> GroupState:
    """Judge a group by the features with data on a node, each with whether it ever changes."""
    metrics = feature_metrics(spec, group, catalog().dialect(dialect_name))
    absent = {feature: names for feature, names in metrics.items() if feature not in moved}
    return GroupState(
        missing=list(dict.fromkeys(" or ".join(names) for names in absent.values() if names)),
        unknown=[feature for feature, names in absent.items() if not names],
        constant=not absent and not any(moved[feature] for feature in metrics),
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
