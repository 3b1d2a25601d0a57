"""Which feature groups are complete on a node, and what the others lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kepler_train.catalog import catalog
from kepler_train.samples.metrics import feature_metrics
from kepler_train.spec import RunSpec

# Names in a reason; a longer list is in the JSON.
_NAMED = 3


@dataclass(frozen=True)
class GroupState:
    """Whether a group can be trained on one node."""

    missing: list[str]  # features without data, by the metrics that would hold them
    unknown: list[str]  # features that this dialect of Kepler does not have
    constant: bool  # no feature of the group ever changes
    left_out: dict[str, list[str]]  # features without data that the group can do without, by their sets

    @property
    def valid(self) -> bool:
        """Whether every feature that the group cannot do without has data, and one of them changes."""
        return not (self.missing or self.unknown or self.constant)

    def reason(self, versions: str) -> str:
        """Return why the group is not valid, in few words; empty when it is."""
        if self.unknown:
            return f"Kepler {versions} does not export it"
        if self.missing:
            return f"{_listed(self.missing)} missing"
        return "none of its features ever changes" if self.constant else ""


def group_state(spec: RunSpec, group: str, dialect_name: str, moved: Mapping[str, bool]) -> GroupState:
    """Judge a group by the features with data on a node, each with whether it ever changes."""
    metrics = feature_metrics(spec, group, catalog().dialect(dialect_name))
    optional = catalog().optional_features(group)
    absent = {feature: names for feature, names in metrics.items() if feature not in moved}
    needed = {feature: names for feature, names in absent.items() if feature not in optional}
    left_out: dict[str, list[str]] = {}
    for feature in absent.keys() - needed.keys():
        left_out.setdefault(optional[feature], []).append(feature)
    return GroupState(
        missing=list(dict.fromkeys(" or ".join(names) for names in needed.values() if names)),
        unknown=[feature for feature, names in needed.items() if not names],
        constant=not needed and not any(moved[feature] for feature in metrics.keys() - absent.keys()),
        left_out={name: sorted(left_out[name]) for name in sorted(left_out)},
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
