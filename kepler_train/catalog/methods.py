"""Methods that a run chooses among by name. Unlike entries of the catalog, users cannot add to them."""

from __future__ import annotations

EXTRACTORS = (
    "default",  # rates per second of each series over its own elapsed time
    "smooth",  # default, then a rolling mean over the time of 30 rows of features and power, within a phase of load
)
ISOLATORS = (
    "auto",  # profile where the node type has one or the schedule idle phases, else min
    "none",  # removes nothing
    "min",  # removes, per component, the minimum power seen (W)
    "profile",  # removes the background power profiled at idle for the node type
    "trainer",  # removes the background power that an AbsPower model predicts from background containers
)
ATTRIBUTION_RULES = (
    "proportional",  # shares by all features of the group, with non-negative weights fitted to the node
    "main-feature",  # shares by the main feature of the group
)
