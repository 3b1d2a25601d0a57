"""Champion and challenger: whether a new version becomes `latest`. A pure decision; what it needs is in its arguments.

A version that is held back is stored like any other, and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kepler_train.evaluate.comparison import Comparison
from kepler_train.model_key import Family

Promote = Literal["better", "always", "never"]
# With less a version may have met a machine that did nothing, or a window that was hardly scraped.
FEWEST_ROWS, FEWEST_WORKLOADS = 60, 2


class Promotion(NamedTuple):
    """Whether a version becomes `latest`, and why or why not, as a sentence."""

    promoted: bool
    reason: str


Judge = Callable[[str], Promotion]
"""Whether a version may take the place of the one that is `latest`, which is named; empty before the first."""


@dataclass(frozen=True)
class Candidate:
    """What a version promises: its models by source, output type and group; and what it has learnt from."""

    version: str
    families: frozenset[Family] = field(default_factory=frozenset)
    rows: int = 0
    workloads: int = 0


def decide(
    challenger: Candidate, champion: Candidate | None, comparison: Comparison | None, promote: Promote = "better"
) -> Promotion:
    """Decide whether a challenger takes the place of the champion, which is None before the first version.

    `comparison` is of the two; None where the champion cannot be read. Pins, rollbacks and windows older than the
    champion's are the target's business.
    """
    if champion and champion.version == challenger.version:
        return Promotion(True, "It is the latest version already.")
    if promote == "never":
        return Promotion(False, "It is stored only, as promote is never.")
    if champion is None:
        return Promotion(True, "It is the first version.")
    if promote == "always":
        return Promotion(True, "It was not compared with the version before, as promote is always.")
    if reason := _breaks_promise(challenger, champion) or _learnt_too_little(challenger):
        return Promotion(False, reason)
    if comparison is None or not comparison.differences():
        why = _unknown(comparison)
        return Promotion(True, f"It could not be compared with {champion.version}: {why}.")
    if worse := comparison.worse():
        name, most = max(worse, key=lambda one: one[1].low / one[1].champion if one[1].champion else one[1].low)
        others = f" (and {len(worse) - 1} more)" if len(worse) > 1 else ""
        return Promotion(False, f"It is worse than {champion.version} beyond the noise: {name} {most.words()}{others}.")
    name, largest = max(comparison.differences(), key=lambda one: one[1].champion)
    return Promotion(True, f"It is not worse than {champion.version} beyond the noise: {name} {largest.words()}.")


def _breaks_promise(challenger: Candidate, champion: Candidate) -> str:
    """Return why readers of the champion would miss something; more models than before are welcome."""
    if not (lacking := sorted(champion.families - challenger.families)):
        return ""
    names = ", ".join(map(str, lacking[:3])) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
    return f"It has no model of {names}, which {champion.version} has."


def _learnt_too_little(challenger: Candidate) -> str:
    if challenger.rows < FEWEST_ROWS:
        return f"It has learnt from {challenger.rows} rows only, and takes {FEWEST_ROWS} to become the latest."
    if challenger.workloads < FEWEST_WORKLOADS:
        return f"It has met {challenger.workloads} workload only, and takes {FEWEST_WORKLOADS} to become the latest."
    return ""


def _unknown(comparison: Comparison | None) -> str:
    if comparison is None:
        return "it cannot be read"
    reasons = {compared.unknown for compared in comparison.models.values() if compared.unknown}
    return "; ".join(sorted(reasons)) or "they have no source and output type in common"
