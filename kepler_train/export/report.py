"""The report: every model with its errors by all protocols beside trivial ones, in words and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kepler_train import __version__
from kepler_train.columns import meter_of
from kepler_train.evaluate.comparison import Comparison
from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.gate import rule
from kepler_train.evaluate.protocols import FORWARD, Protocol
from kepler_train.export.pictures import PLOT, pictured
from kepler_train.export.standings import Standing, Table, best_models, in_groups, tables
from kepler_train.export.templating import template
from kepler_train.isolate.outcome import Isolation
from kepler_train.model_key import ModelKey
from kepler_train.models.metadata import ADDITIVE, ErrorFigures
from kepler_train.spec import RunSpec

REPORT = "README.md"
# Rows of a table that everybody sees; the others open on a click.
_SHOWN = 8
# Absolute error in W and share of measured power, by these, in the order of the columns.
PROTOCOL_NAMES = {
    Protocol.SHUFFLED: "shuffled",
    Protocol.BLOCKED: "blocked",
    Protocol.WORKLOAD: "unseen load",
    Protocol.FORWARD: "forward",
}


def write_report(
    file: Path,
    spec: RunSpec,
    evaluation: Evaluation,
    isolation: Isolation,
    run: str,
    comparison: Comparison | None = None,
) -> None:
    """Write the Markdown report of a run."""
    content = report_content(spec, evaluation, isolation, run, comparison)
    best = [_in_short(key, content["tables"]) for key in best_models(evaluation)]
    page = template("report.md", figure=rounded, line=_line, meter=meter_of)
    file.write_text(page.render(content, best=best, shown=_SHOWN), encoding="utf-8")


def report_content(
    spec: RunSpec, evaluation: Evaluation, isolation: Isolation, run: str, comparison: Comparison | None = None
) -> dict[str, Any]:
    """Return what the Markdown and the HTML report have in common, by the names of their templates."""
    models = evaluation.models
    passing = sorted(evaluation.passing, key=lambda key: models[key].mae)
    training = {key: verdict.training for key, verdict in models.items()}
    return {
        "spec": spec,
        "gate": rule(spec),
        "run": run,
        "models": models,
        "passing": passing,
        "refused": sorted(set(models) - set(passing)),
        "missing": evaluation.missing,
        "notes": sorted({note for about in training.values() for note in about.notes}),
        "training": next(iter(training.values()), None),
        "choices": {key: about.chosen for key, about in training.items() if about.chosen},
        "left_out": _left_out(evaluation),
        "apart": {key: about for key, about in training.items() if about.attribution != ADDITIVE},
        "tables": tables(evaluation),
        "isolation": isolation,
        "comparison": comparison,
        "column_names": HEAD,
        "forward": round(100 * (1 - FORWARD)),
        "plot": PLOT,
        "pictures": pictured(evaluation),
        "version": __version__,
        "Protocol": Protocol,
    }


def _left_out(evaluation: Evaluation) -> dict[tuple[str, str], list[ModelKey]]:
    """Return the models that did without a trainer, by the trainer and the reason."""
    models: dict[tuple[str, str], list[ModelKey]] = {}
    for key, verdict in evaluation.models.items():
        for failure in verdict.training.left_out.items():
            models.setdefault(failure, []).append(key)
    return models


def _in_short(key: ModelKey, standings: list[Table]) -> str:
    """Return a line on the best model of a source and output type, beside the trivial models."""
    table = next(table for table in standings if table.name == key.table)
    best = next(row for row in table.rows if (row.trainer, row.group) == (key.trainer, key.group) and not row.trivial)
    trivial = (row for row in table.rows if row.trivial and key.group in row.groups)
    others = "; ".join(f"*{row.trainer}* {_error(row.farthest, ' W')}" for row in trivial)
    where = "under unseen load" if Protocol.WORKLOAD in best.figures else "in blocks of time"
    return (
        f"**{key.output_type} of {key.source}**: {key.trainer} on {key.group}, {table.component}"
        f" {_error(best.farthest, ' W')} {where} ({others})"
    )


class Cell(NamedTuple):
    """A cell of a table of models: its text, and the number by which rows are sorted."""

    text: str
    value: float | None = None


_NOTHING = Cell("–")
HEAD = ("trainer", "group", *PROTOCOL_NAMES.values(), "RMSE", "P95", "worst load", "energy", "idle bias", "interval")


def standing_cells(row: Standing, table: Table) -> list[Cell]:
    """Return the cells of a model, in the order of `HEAD`."""
    far, interval, idle = row.farthest, row.interval, row.figures[Protocol.BLOCKED].idle_bias
    errors = [row.figures.get(protocol) for protocol in PROTOCOL_NAMES]
    energy, half_width = far.energy_error, interval.mean_width / 2 if interval else None
    covered = interval.coverage if interval else None
    return [
        Cell(row.trainer),
        Cell(in_groups(row.groups, table.groups)),
        *(Cell(_error(figures), figures.mae) if figures else _NOTHING for figures in errors),
        Cell(rounded(far.rmse), far.rmse),
        Cell(rounded(far.p95), far.p95),
        Cell(f"{rounded(far.worst_workload_mae)} ({far.worst_workload})", far.worst_workload_mae),
        Cell(f"{energy:+z.1f} % ({far.energy_worst_workload})", abs(energy or 0.0))
        if far.energy_worst_workload
        else _NOTHING,
        Cell(f"{idle:+z.2f}", abs(idle)) if idle is not None else _NOTHING,
        Cell(f"± {rounded(half_width)} ({'–' if covered is None else f'{100 * covered:.0f} %'})", half_width)
        if interval
        else _NOTHING,
    ]


def _line(row: Standing, table: Table) -> str:
    """Return the line of a model in a Markdown table."""
    trainer, *others = (cell.text for cell in standing_cells(row, table))
    cells = [f"*{trainer}*" if row.trivial else trainer, *others]
    escaped = (cell.replace("|", r"\|") for cell in cells)  # a load may have any name
    return f"| {' | '.join(escaped)} |"


def _error(figures: ErrorFigures, unit: str = "") -> str:
    share = "" if figures.mape is None else f" ({figures.mape:.1f} %)"
    return f"{rounded(figures.mae)}{unit}{share}"


def rounded(value: float | None, digits: int = 2) -> str:
    """Return a number with so many decimals; a dash where there is none."""
    return "–" if value is None else f"{value:z.{digits}f}"  # z: no -0.00
