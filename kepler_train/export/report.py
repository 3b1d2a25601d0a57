"""The report: every model with its errors by all protocols beside trivial ones, in words and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from kepler_train import __version__
from kepler_train.estimate.sharing import ADDITIVE
from kepler_train.evaluate.protocols import FORWARD, Protocol
from kepler_train.export.pictures import PLOT, pictured
from kepler_train.export.standings import Standing, Table, best_parts, in_groups, tables
from kepler_train.isolate.outcome import Isolation
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


def write_report(file: Path, spec: RunSpec, evaluation: Mapping[str, Any], isolation: Isolation, run: str) -> None:
    """Write the Markdown report of a run."""
    environment = Environment(  # noqa: S701  # Markdown, not HTML
        loader=PackageLoader("kepler_train.export"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"figure": _figure, "line": _line}
    models, standings = evaluation["models"], tables(evaluation)
    passing = sorted((part for part in models if models[part]["passes"]), key=lambda part: float(models[part]["mae"]))
    content = environment.get_template("report.md").render(
        spec=spec,
        run=run,
        models=models,
        passing=passing,
        refused=sorted(set(models) - set(passing)),
        missing=evaluation["missing"],
        notes=sorted({note for verdict in models.values() for note in verdict["training"].get("notes", [])}),
        training=next(iter(models.values()))["training"] if models else {},
        choices={part: models[part]["training"]["chosen"] for part in models if "chosen" in models[part]["training"]},
        left_out=_left_out(models),
        apart={
            part: models[part]["training"]
            for part in models
            if models[part]["training"].get("attribution", ADDITIVE) != ADDITIVE
        },
        tables=standings,
        best=[_in_short(part, standings) for part in best_parts(evaluation)],
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


def _left_out(models: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """The models that did without a trainer, by the trainer and the reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for part, verdict in models.items():
        for name, reason in verdict["training"].get("left_out", {}).items():
            found.setdefault((name, reason), []).append(part)
    return found


def _in_short(part: str, standings: list[Table]) -> str:
    """The best model of a source and output type in a line, beside the trivial models."""
    source, output_type, group, trainer = part.split("/")
    table = next(one for one in standings if (one.source, one.output_type) == (source, output_type))
    own = next(row for row in table.rows if (row.trainer, row.group) == (trainer, group) and not row.trivial)
    beside = (row for row in table.rows if row.trivial and group in row.groups)
    others = "; ".join(f"*{row.trainer}* {_error(row.farthest, ' W')}" for row in beside)
    where = "under unseen load" if Protocol.WORKLOAD in own.figures else "in blocks of time"
    return (
        f"**{output_type} of {source}**: {trainer} on {group}, {table.component} {_error(own.farthest, ' W')} {where}"
        f" ({others})"
    )


def _line(row: Standing, table: Table) -> str:
    """A model as the cells of its line in a table."""
    far, interval = row.farthest, row.interval
    name = f"*{row.trainer}*" if row.trivial else row.trainer
    idle = row.figures[Protocol.BLOCKED]["idle_bias"]
    cells = [name, in_groups(row.groups, table.groups)]
    cells += [_error(row.figures[protocol]) if protocol in row.figures else "–" for protocol in _NAMES]
    cells += [
        _figure(far["rmse"]),
        _figure(far["p95"]),
        f"{_figure(far['worst_workload_mae'])} ({far['worst_workload']})",
    ]
    cells += [
        f"{far['energy_error']:+z.1f} % ({far['energy_worst_workload']})" if far["energy_worst_workload"] else "–"
    ]
    cells += [f"{idle:+z.2f}" if idle is not None else "–"]
    if interval:
        covered = "–" if interval["coverage"] is None else f"{100 * interval['coverage']:.0f} %"
        cells += [f"± {_figure(interval['mean_width'] / 2)} ({covered})"]
    else:
        cells += ["–"]
    escaped = (cell.replace("|", r"\|") for cell in cells)  # a load may have any name
    return f"| {' | '.join(escaped)} |"


def _error(figures: Mapping[str, Any], unit: str = "") -> str:
    share = "" if figures["mape"] is None else f" ({figures['mape']:.1f} %)"
    return f"{_figure(figures['mae'])}{unit}{share}"


def _figure(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:z.{digits}f}"  # z: no -0.00
