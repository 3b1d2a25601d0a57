"""Models side by side: a table for every source, output type and component, with trivial models, the best first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kepler_train.train.baselines import title
from kepler_train.train.protocols import Protocol

Evaluation = Mapping[str, Any]


@dataclass(frozen=True)
class Standing:
    """One model in a table: its figures by protocol, its interval where it has one, and whether it is published."""

    group: str
    trainer: str
    figures: Mapping[str, Mapping[str, Any]]
    interval: Mapping[str, Any] = field(default_factory=dict)
    trivial: bool = False
    passes: bool = True

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
            row = Standing(group, trainer, _of(component, verdict["figures"]), interval, passes=verdict["passes"])
            found.setdefault((source, output_type, component), []).append(row)
    for family, trivial in evaluation["baselines"].items():
        source, output_type, group = family.split("/")
        for name, figures in trivial.items():
            for component in figures[Protocol.BLOCKED]:
                row = Standing(group, _name(name, family, evaluation), _of(component, figures), trivial=True)
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


def _of(component: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    return {protocol: by_component[component] for protocol, by_component in figures.items()}


def _name(name: str, family: str, evaluation: Evaluation) -> str:
    of_family = (verdict for part, verdict in evaluation["models"].items() if part.startswith(f"{family}/"))
    return title(name, next(iter(of_family))["training"].get("previous", {}))


def _add_once(rows: list[Standing], row: Standing) -> None:
    """A trivial model is mostly the same for all groups, and then stands there once, of no group."""
    for number, other in enumerate(rows):
        if other.trivial and (other.trainer, other.figures) == (row.trainer, row.figures):
            rows[number] = Standing("", other.trainer, other.figures, trivial=True)
            return
    rows.append(row)
