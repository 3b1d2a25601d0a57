"""Models side by side: a table for every source, output type and component, with trivial models, the best first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kepler_train.evaluate.baselines import title
from kepler_train.evaluate.protocols import Protocol

Evaluation = Mapping[str, Any]


@dataclass(frozen=True)
class Standing:
    """One model in a table: its figures by protocol, its interval where it has one, and whether it is published.

    A trained model is of one group; a trivial one may be the same for several.
    """

    groups: tuple[str, ...]
    trainer: str
    figures: Mapping[str, Mapping[str, Any]]
    interval: Mapping[str, Any] = field(default_factory=dict)
    trivial: bool = False
    passes: bool = True

    @property
    def group(self) -> str:
        """The group, or the first of several."""
        return self.groups[0]

    @property
    def farthest(self) -> Mapping[str, Any]:
        """The figures under loads that were never seen; of blocks of time where there is no such load."""
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
        """The groups of the trained models."""
        return list(dict.fromkeys(row.group for row in self.rows if not row.trivial))

    @property
    def name(self) -> str:
        """What files on this source and output type begin with."""
        return f"{self.source}_{self.output_type}"

    def first(self, count: int) -> list[Standing]:
        """So many trained models, and the trivial ones where they stand."""
        shown = [row for row in self.rows if not row.trivial][:count]
        return [row for row in self.rows if row.trivial or any(row is other for other in shown)]

    def others(self, count: int) -> list[Standing]:
        """The trained models after those."""
        return [row for row in self.rows if not row.trivial][count:]


def tables(evaluation: Evaluation) -> list[Table]:
    """A table for every source, output type and component that some model predicts."""
    found: dict[tuple[str, str, str], list[Standing]] = {}
    for part, verdict in evaluation["models"].items():
        source, output_type, group, trainer = part.split("/")
        for component in verdict["figures"][Protocol.BLOCKED]:
            interval = verdict["training"].get("interval", {}).get(component, {})
            row = Standing(
                (group,), trainer, of_component(component, verdict["figures"]), interval, passes=verdict["passes"]
            )
            found.setdefault((source, output_type, component), []).append(row)
    for family, trivial in evaluation["baselines"].items():
        source, output_type, group = family.split("/")
        for name, figures in trivial.items():
            for component in figures[Protocol.BLOCKED]:
                label = title(name, about_family(evaluation, family), [component])
                row = Standing((group,), label, of_component(component, figures), trivial=True)
                _add_once(found[source, output_type, component], row)
    ordered = {key: sorted(rows, key=lambda row: float(row.farthest["mae"])) for key, rows in found.items()}
    return [Table(*key, rows) for key, rows in ordered.items()]


def ranked_parts(evaluation: Evaluation) -> list[str]:
    """All models, those that pass first, by the error of their worst component under unseen load, or in blocks."""
    models = evaluation["models"]

    def error(part: str) -> float:
        figures = models[part]["figures"]
        return max(float(own["mae"]) for own in (figures.get(Protocol.WORKLOAD) or figures[Protocol.BLOCKED]).values())

    return sorted(models, key=lambda part: (not models[part]["passes"], error(part), part))


def best_parts(evaluation: Evaluation) -> list[str]:
    """The first model of each source and output type."""
    best: dict[tuple[str, ...], str] = {}
    for part in ranked_parts(evaluation):
        best.setdefault(tuple(part.split("/")[:2]), part)
    return sorted(best.values())


def of_component(component: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of one component by protocol."""
    return {protocol: by_component[component] for protocol, by_component in figures.items()}


def about_family(evaluation: Evaluation, family: str) -> Mapping[str, Any]:
    """What is known of the training of a source, output type and group, by the first of its models."""
    of_family = (verdict for part, verdict in evaluation["models"].items() if part.startswith(f"{family}/"))
    about: Mapping[str, Any] = next(of_family)["training"]
    return about


def in_groups(groups: Collection[str], every: Collection[str]) -> str:
    """Groups as a cell of a table that has models of `every` group."""
    return "all" if len(groups) > 1 and set(groups) >= set(every) else ", ".join(groups)


def _add_once(rows: list[Standing], row: Standing) -> None:
    """A trivial model is mostly the same for all groups, and then stands there once."""
    for number, other in enumerate(rows):
        if other.trivial and (other.trainer, other.figures) == (row.trainer, row.figures):
            rows[number] = replace(other, groups=(*other.groups, *row.groups))
            return
    rows.append(row)
