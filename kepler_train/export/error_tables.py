"""Blocked errors of models by source and output type, beside those of trivial models, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kepler_train.evaluate.baselines import title
from kepler_train.evaluate.evaluation import Evaluation, ModelVerdict
from kepler_train.evaluate.figures import worst
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.standings import in_groups
from kepler_train.model_key import ModelKey, model_name
from kepler_train.models.metadata import ByComponent

ErrorRow = dict[str, Any]


def error_tables(models: Mapping[ModelKey, ModelVerdict], node_type: int) -> dict[str, list[ErrorRow]]:
    """Return the errors of models by `<source>_<output type>`, the best first."""
    tables: dict[str, list[ErrorRow]] = {}
    for key, verdict in models.items():
        row = _row(model_name(key.trainer, node_type), key.group, verdict.figures[Protocol.BLOCKED])
        tables.setdefault(key.table, []).append(row)
    return {name: _sorted(rows) for name, rows in tables.items()}


def error_report(tables: Mapping[str, list[ErrorRow]], evaluation: Evaluation) -> str:
    """Return the tables in Markdown, with the trivial models of their groups: MAE in W, MAPE in %."""
    return "\n".join(_section(name, rows, _trivial(name, rows, evaluation)) for name, rows in tables.items())


def _row(name: str, group: str, blocked: ByComponent) -> ErrorRow:
    """Return the errors of the worst component, and of each."""
    row = {"model_name": name, "feature_group": group, "mae": worst(blocked, "mae"), "mape": worst(blocked, "mape")}
    for component, figures in blocked.items():
        row |= {f"{component}_mae": figures.mae, f"{component}_mape": figures.mape}
    return row


def _trivial(table: str, rows: list[ErrorRow], evaluation: Evaluation) -> list[ErrorRow]:
    """Return the trivial models of a table; one that is the same for several groups stands there once."""
    groups = list(dict.fromkeys(row["feature_group"] for row in rows))
    trivial: list[tuple[ErrorRow, list[str]]] = []
    for family, models in evaluation.baselines.items():
        if table != family.table or family.group not in groups:
            continue
        for name, figures in models.items():
            blocked = figures[Protocol.BLOCKED]
            row = _row(f"*{title(name, evaluation.training_of(family), blocked)}*", "", blocked)
            same = next((of for other, of in trivial if other == row), None)
            if same is None:
                trivial.append((row, [family.group]))
            else:
                same.append(family.group)
    return [row | {"feature_group": in_groups(of, groups)} for row, of in trivial]


def _section(name: str, rows: list[ErrorRow], trivial: list[ErrorRow]) -> str:
    """Return the table of a source and output type, with its title."""
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [[_cell(value) for value in row.values()] for row in _sorted([*rows, *trivial])]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return (
        f"# {name.replace('_', ' ')}\n\nHeld out in blocks of time: mae in W, mape in %, of the worst component and of"
        f" each. Trivial models on the same rows are in italics.\n\n{table}"
    )


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value or "–")


def _sorted(rows: Iterable[ErrorRow]) -> list[ErrorRow]:
    return sorted(rows, key=lambda row: float(row["mae"]))
