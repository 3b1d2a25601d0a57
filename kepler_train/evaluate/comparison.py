"""A new version beside the present one, the best model of each source and output type, on rows neither has learnt from.

Both must know as much of a row's load:

| load of the row | the champion's prediction | the challenger's prediction |
|---|---|---|
| the champion has learnt from it | as published | without the row's block of time, if the load also ran outside of it |
| the champion has never met it | as published | without all rows of the load |

Rows up to the end of the champion's own window do not count, as it may have learnt from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.columns import TIME
from kepler_train.evaluate.paired import Difference, difference_of_rows, difference_of_workloads
from kepler_train.evaluate.protocols import Protocol
from kepler_train.evaluate.window_rows import WindowRows
from kepler_train.extract.row_times import BLOCK
from kepler_train.models.metadata import ErrorFigures, ModelMetadata
from kepler_train.records import Record
from kepler_train.samples.schedule import IDLE

COMPARISON = "comparison.json"
# The chance that a version as good as the present one is held back, over all components together.
FALSE_ALARM = 0.05
_FEWEST_ROWS = 10


class Compared(Record):
    """The best models of a source and an output type: the difference by component, or why it is not known."""

    champion: str = ""
    challenger: str = ""
    differences: dict[str, Difference] = {}
    unknown: str = ""

    def because(self, unknown: str) -> Compared:
        """Return these models with why their difference is not known."""
        return self.model_copy(update={"unknown": unknown})


class Comparison(Record):
    """A new version beside the one that was published as `champion`, by `<source>/<output type>`."""

    champion: str
    models: dict[str, Compared] = {}

    def worse(self) -> list[tuple[str, Difference]]:
        """Return where the new version is worse beyond the noise, as `<component> of <source>/<output type>`."""
        return [(name, difference) for name, difference in self.differences() if difference.worse]

    def differences(self) -> list[tuple[str, Difference]]:
        """Return all that is known, by `<component> of <source>/<output type>`."""
        return [
            (f"{component} of {name}", difference)
            for name, compared in self.models.items()
            for component, difference in compared.differences.items()
        ]


@dataclass(frozen=True)
class Champion:
    """The best model of the present version: its metadata, and its predictions (W) for the rows by component."""

    metadata: ModelMetadata
    watts: Mapping[str, Floats]


def level_for(comparisons: int) -> float:
    """Return the level of each of so many intervals, so that together they hold what is left of `FALSE_ALARM`.

    Only the lower end counts, so a half of what is outside of an interval does (Bonferroni).
    """
    return 1 - 2 * FALSE_ALARM / max(comparisons, 1)


def compare_on_rows(rows: WindowRows, champion: Champion, level: float) -> Compared:
    """Compare the model of the rows with the champion, by component."""
    compared = Compared(champion=_name(champion.metadata), challenger=f"{rows.model.group}/{rows.model.trainer}")
    end = champion.metadata.end
    if end is None:
        return compared.because("the window of the present model is not known")
    new = (rows.frame[TIME] > end).to_numpy()
    shared = [component for component in rows.components if component in champion.watts]
    differences = {}
    for component in shared:
        measured, predicted = rows.measured(component), _as_fair(rows, champion.metadata, component)
        fit = new & np.isfinite(measured) & np.isfinite(predicted)
        if fit.sum() >= _FEWEST_ROWS:
            before, after = (np.abs(watts - measured)[fit] for watts in (champion.watts[component], predicted))
            differences[component] = difference_of_rows(before, after, rows.workloads[fit].tolist(), level)
    if differences:
        return compared.model_copy(update={"differences": differences})
    if not shared:
        return compared.because("the present model has no component in common with the new one")
    if new.sum() < _FEWEST_ROWS:
        return compared.because("the present version has learnt from the same rows")
    return compared.because("no workload that the present model knows was met twice in the window")


def _as_fair(rows: WindowRows, champion: ModelMetadata, component: str) -> Floats:
    """Return the challenger's prediction (W) that knows as much of each row's load as the champion; NaN without one."""
    learnt = np.array([name in champion.workloads or _any_machine_has(name) for name in rows.workloads], dtype=bool)
    known_to_both = np.where(rows.known_elsewhere() | _is_block(rows), rows.blocked(component), np.nan)
    unseen = rows.unseen(component)
    # With a single load nothing was left out, and the model has learnt from it at another time.
    return np.where(learnt | np.isnan(unseen), known_to_both, unseen)


def _any_machine_has(workload: str) -> bool:
    return workload == IDLE or workload.startswith(BLOCK)


def _is_block(rows: WindowRows) -> np.bool_ | bool:
    """Tell whether blocks of time stand for workloads: each is inside of itself, and all are of other times."""
    return all(str(name).startswith(BLOCK) for name in rows.workloads)


def compare_on_figures(champion: ModelMetadata, challenger: ModelMetadata, level: float) -> Compared:
    """Compare two models of the very same window by the held-out errors of each workload that both were judged by."""
    compared = Compared(champion=_name(champion), challenger=_name(challenger))
    ours, theirs = _farthest(challenger), _farthest(champion)
    differences = {}
    for component in (name for name in ours if name in theirs):
        before, after = theirs[component].workloads, ours[component].workloads
        if len(before) > 1 and {name: one.rows for name, one in before.items()} == {
            name: one.rows for name, one in after.items()
        }:
            differences[component] = difference_of_workloads(
                {name: one.mae for name, one in before.items()},
                {name: one.mae for name, one in after.items()},
                level,
                sum(one.rows for one in after.values()),
            )
    if not differences:
        return compared.because("the present version of the same window was not judged by the same rows")
    return compared.model_copy(update={"differences": differences})


def _farthest(metadata: ModelMetadata) -> Mapping[str, ErrorFigures]:
    return metadata.figures.get(Protocol.WORKLOAD) or metadata.figures.get(Protocol.BLOCKED, {})


def count_components(rows: Iterable[WindowRows]) -> int:
    """Return how many intervals a comparison of these rows needs."""
    return sum(len(table.components) for table in rows)


def _name(metadata: ModelMetadata) -> str:
    return f"{metadata.feature_group}/{metadata.trainer}"
