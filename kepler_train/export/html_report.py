"""The report as one HTML page that needs nothing else: pictures, style and script are inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from kepler_train.columns import meter_of
from kepler_train.evaluate.comparison import Comparison
from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.report import report_content, rounded, standing_cells
from kepler_train.export.standings import best_models
from kepler_train.export.templating import template
from kepler_train.isolate.outcome import Isolation
from kepler_train.machine.node_attributes import NodeAttributes
from kepler_train.model_key import ModelKey
from kepler_train.models.metadata import ErrorFigures
from kepler_train.spec import RunSpec
from kepler_train.validate.outcome import Verdict

HTML_REPORT = "report.html"
_UNITS = {"cores": "CPUs", "chips": "sockets", "memory": "GiB", "frequency": "MHz"}


def write_html_report(
    home: Path,
    spec: RunSpec,
    evaluation: Evaluation,
    isolation: Isolation,
    run: str,
    verdict: Verdict | None,
    machine: Mapping[str, Any],
    comparison: Comparison | None = None,
) -> None:
    """Write the report of a run into the folder of its pipeline, where its pictures are.

    `verdict` is on the samples, where there were any; `machine` is the spec of the measured machine, as far as known.
    """
    script = files("kepler_train.export").joinpath("templates/report.js").read_text(encoding="utf-8")
    page = template("report.html", figure=rounded, meter=meter_of, cells=standing_cells, moment=_moment)
    content = page.render(
        report_content(spec, evaluation, isolation, run, comparison),
        best={key: _honest(evaluation, key) for key in best_models(evaluation)},
        verdict=verdict,
        machine=_described(machine),
        images=_embedded(home.glob("*.png")),
        script=script,
        # Only this script runs, whatever is in the names of nodes, loads and models.
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    (home / HTML_REPORT).write_text(content, encoding="utf-8")


def _honest(evaluation: Evaluation, key: ModelKey) -> dict[str, ErrorFigures]:
    """Return the errors of a model by component under unseen load; in blocks of time where there is no such load."""
    figures = evaluation.models[key].figures
    return figures.get(Protocol.WORKLOAD) or figures[Protocol.BLOCKED]


def _described(machine: Mapping[str, Any]) -> str:
    """Return the attributes of a machine that are known, in words."""
    attributes = NodeAttributes.model_validate(machine).attributes()
    return ", ".join(f"{value} {_UNITS.get(name, '')}".strip() for name, value in attributes.items() if value)


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _embedded(pictures: Iterable[Path]) -> dict[str, str]:
    """Return, by the names of pictures, addresses that hold the pictures themselves."""
    return {
        file.name: f"data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()}" for file in sorted(pictures)
    }
