"""Blocked errors of models by source and output type: rows for other tools, and beside trivial models for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kepler_train.evaluate.baselines import title
from kepler_train.evaluate.figures import ByComponent, worst
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.standings import Evaluation, about_family, in_groups

Row = dict[str, Any]


def error_tables(passing: Mapping[str, Mapping[str, Any]], node_type: int) -> dict[str, list[Row]]:
    """The errors of models by `<source>_<output type>`, the best first."""
    tables: dict[str, list[Row]] = {}
    for part, verdict in passing.items():
        source, output_type, group, trainer = part.split("/")
        row = _row(f"{trainer}_{node_type}", group, verdict["figures"][Protocol.BLOCKED])
        tables.setdefault(f"{source}_{output_type}", []).append(row)
    return {name: _sorted(rows) for name, rows in tables.items()}


def error_report(tables: Mapping[str, list[Row]], evaluation: Evaluation) -> str:
    """The same tables in Markdown, with the trivial models of the groups that are in them: MAE in W, MAPE in %."""
    return "\n".join(_section(name, rows, _trivial(name, rows, evaluation)) for name, rows in tables.items())


def _row(name: str, group: str, blocked: ByComponent) -> Row:
    """The errors of the worst component, and of each."""
    row = {"model_name": name, "feature_group": group, "mae": worst(blocked, "mae"), "mape": worst(blocked, "mape")}
    for component, figures in blocked.items():
        row |= {f"{component}_mae": figures["mae"], f"{component}_mape": figures["mape"]}
    return row


def _trivial(table: str, rows: list[Row], evaluation: Evaluation) -> list[Row]:
    """The trivial models of a table; one that is the same for several groups stands there once."""
    groups = list(dict.fromkeys(row["feature_group"] for row in rows))
    found: list[tuple[Row, list[str]]] = []
    for family, models in evaluation["baselines"].items():
        source, output_type, group = family.split("/")
        if table != f"{source}_{output_type}" or group not in groups:
            continue
        for name, figures in models.items():
            blocked = figures[Protocol.BLOCKED]
            row = _row(f"*{title(name, about_family(evaluation, family), blocked)}*", "", blocked)
            same = next((of for other, of in found if other == row), None)
            if same is None:
                found.append((row, [group]))
            else:
                same.append(group)
    return [row | {"feature_group": in_groups(of, groups)} for row, of in found]


def _section(name: str, rows: list[Row], trivial: list[Row]) -> str:
    """A table of a source and output type."""
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [[_cell(value) for value in row.values()] for row in _sorted([*rows, *trivial])]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return (
        f"# {name.replace('_', ' ')}\n\nHeld out in blocks of time: mae in W, mape in %, of the worst component and of"
        f" each. Trivial models on the same rows are in italics.\n\n{table}"
    )


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value or "–")


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: float(row["mae"]))
