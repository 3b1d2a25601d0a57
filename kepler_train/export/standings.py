"""Models side by side: a table for every source, output type and component, with trivial models, the best first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from kepler_train.evaluate.baselines import title
from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.protocols import Protocol
from kepler_train.model_key import ModelKey, table_name
from kepler_train.models.metadata import ErrorFigures, Interval

F = TypeVar("F")


@dataclass(frozen=True)
class Standing:
    """One model in a table: its figures by protocol, its interval where it has one, and whether it is published.

    A trained model is of one group; a trivial one may be the same for several.
    """

    groups: tuple[str, ...]
    trainer: str
    figures: Mapping[str, ErrorFigures]
    interval: Interval | None = None
    trivial: bool = False
    passes: bool = True

    @property
    def group(self) -> str:
        """Return the group, or the first of several."""
        return self.groups[0]

    @property
    def farthest(self) -> ErrorFigures:
        """Return the figures under loads that were never seen; of blocks of time where there is no such load."""
        return self.figures.get(Protocol.WORKLOAD) or self.figures[Protocol.BLOCKED]


@dataclass(frozen=True)
class Table:
    """The standings of one component."""

    source: str
    output_type: str
    component: str
    rows: list[Standing]

    @property
    def groups(self) -> list[str]:
        """Return the groups of the trained models."""
        return list(dict.fromkeys(row.group for row in self.rows if not row.trivial))

    @property
    def name(self) -> str:
        """Return what files on this source and output type begin with."""
        return table_name(self.source, self.output_type)

    def first(self, count: int) -> list[Standing]:
        """Return the first `count` trained models, and the trivial ones where they stand."""
        shown = [row for row in self.rows if not row.trivial][:count]
        return [row for row in self.rows if row.trivial or any(row is other for other in shown)]

    def others(self, count: int) -> list[Standing]:
        """Return the trained models after the first `count`."""
        return [row for row in self.rows if not row.trivial][count:]


def tables(evaluation: Evaluation) -> list[Table]:
    """Return a table for every source, output type and component that some model predicts."""
    standings: dict[tuple[str, str, str], list[Standing]] = {}
    for key, verdict in evaluation.models.items():
        for component in verdict.figures[Protocol.BLOCKED]:
            figures, interval = of_component(component, verdict.figures), verdict.training.interval.get(component)
            row = Standing((key.group,), key.trainer, figures, interval, passes=verdict.passes)
            standings.setdefault((key.source, key.output_type, component), []).append(row)
    for family, trivial in evaluation.baselines.items():
        for name, by_protocol in trivial.items():
            for component in by_protocol[Protocol.BLOCKED]:
                label = title(name, evaluation.training_of(family), [component])
                row = Standing((family.group,), label, of_component(component, by_protocol), trivial=True)
                _add_once(standings[family.source, family.output_type, component], row)
    return [Table(*key, sorted(rows, key=lambda row: row.farthest.mae)) for key, rows in standings.items()]


def ranked_models(evaluation: Evaluation) -> list[ModelKey]:
    """Return all models, those that pass first, by the error of their worst component under unseen load, or in blocks.

    Models of the same error come in the order of their names.
    """

    def error(key: ModelKey) -> float:
        figures = evaluation.models[key].figures
        return max(errors.mae for errors in (figures.get(Protocol.WORKLOAD) or figures[Protocol.BLOCKED]).values())

    return sorted(evaluation.models, key=lambda key: (not evaluation.models[key].passes, error(key), key))


def best_models(evaluation: Evaluation) -> list[ModelKey]:
    """Return the first model of each source and output type."""
    best: dict[str, ModelKey] = {}
    for key in ranked_models(evaluation):
        best.setdefault(key.table, key)
    return sorted(best.values())


def of_component(component: str, figures: Mapping[str, Mapping[str, F]]) -> dict[str, F]:
    """Return the figures of one component by protocol."""
    return {protocol: by_component[component] for protocol, by_component in figures.items()}


def in_groups(groups: Collection[str], every: Collection[str]) -> str:
    """Return groups as a cell of a table that has models of `every` group."""
    return "all" if len(groups) > 1 and set(groups) >= set(every) else ", ".join(groups)


def _add_once(rows: list[Standing], row: Standing) -> None:
    """Add a trivial model, or its groups to the row of the same one: it is mostly the same for all groups."""
    for number, other in enumerate(rows):
        if other.trivial and (other.trainer, other.figures) == (row.trainer, row.figures):
            rows[number] = replace(other, groups=(*other.groups, *row.groups))
            return
    rows.append(row)
