"""The report: every model with its errors by all protocols beside trivial ones, in words and pictures."""

from __future__ import annotations

from pathlib import Path

from kepler_train import __version__
from kepler_train.columns import meter_of
from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.gate import rule
from kepler_train.evaluate.protocols import FORWARD, Protocol
from kepler_train.export.markdown import template
from kepler_train.export.pictures import PLOT, pictured
from kepler_train.export.standings import Standing, Table, best_models, in_groups, tables
from kepler_train.isolate.outcome import Isolation
from kepler_train.model_key import ModelKey
from kepler_train.models.metadata import ADDITIVE, ErrorFigures
from kepler_train.spec import RunSpec

REPORT = "README.md"
# Rows of a table that everybody sees; the others open on a click.
_SHOWN = 8
# Absolute error in W and share of measured power, by these, in the order of the columns.
_NAMES = {
    Protocol.SHUFFLED: "shuffled",
    Protocol.BLOCKED: "blocked",
    Protocol.WORKLOAD: "unseen load",
    Protocol.FORWARD: "forward",
}


def write_report(file: Path, spec: RunSpec, evaluation: Evaluation, isolation: Isolation, run: str) -> None:
    """Write the Markdown report of a run."""
    models, standings = evaluation.models, tables(evaluation)
    passing = sorted(evaluation.passing, key=lambda key: models[key].mae)
    training = {key: verdict.training for key, verdict in models.items()}
    content = template("report.md", figure=_figure, line=_line, meter=meter_of).render(
        spec=spec,
        gate=rule(spec),
        run=run,
        models=models,
        passing=passing,
        refused=sorted(set(models) - set(passing)),
        missing=evaluation.missing,
        notes=sorted({note for about in training.values() for note in about.notes}),
        training=next(iter(training.values()), None),
        choices={key: about.chosen for key, about in training.items() if about.chosen},
        left_out=_left_out(evaluation),
        apart={key: about for key, about in training.items() if about.attribution != ADDITIVE},
        tables=standings,
        best=[_in_short(key, standings) for key in best_models(evaluation)],
        isolation=isolation,
        columns=list(_NAMES.values()),
        forward=round(100 * (1 - FORWARD)),
        shown=_SHOWN,
        plot=PLOT,
        pictures=pictured(evaluation),
        version=__version__,
        Protocol=Protocol,
    )
    file.write_text(content, encoding="utf-8")


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


def _line(row: Standing, table: Table) -> str:
    """Return the line of a model in a table."""
    far, interval = row.farthest, row.interval
    name = f"*{row.trainer}*" if row.trivial else row.trainer
    idle = row.figures[Protocol.BLOCKED].idle_bias
    cells = [name, in_groups(row.groups, table.groups)]
    cells += [_error(row.figures[protocol]) if protocol in row.figures else "–" for protocol in _NAMES]
    cells += [_figure(far.rmse), _figure(far.p95), f"{_figure(far.worst_workload_mae)} ({far.worst_workload})"]
    cells += [f"{far.energy_error:+z.1f} % ({far.energy_worst_workload})" if far.energy_worst_workload else "–"]
    cells += [f"{idle:+z.2f}" if idle is not None else "–"]
    if interval:
        covered = "–" if interval.coverage is None else f"{100 * interval.coverage:.0f} %"
        cells += [f"± {_figure(interval.mean_width / 2)} ({covered})"]
    else:
        cells += ["–"]
    escaped = (cell.replace("|", r"\|") for cell in cells)  # a load may have any name
    return f"| {' | '.join(escaped)} |"


def _error(figures: ErrorFigures, unit: str = "") -> str:
    share = "" if figures.mape is None else f" ({figures.mape:.1f} %)"
    return f"{_figure(figures.mae)}{unit}{share}"


def _figure(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:z.{digits}f}"  # z: no -0.00
