"""The report: every model with its errors by three protocols, in words and one plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from kepler_train import __version__
from kepler_train.isolate.outcome import Isolation
from kepler_train.spec import RunSpec
from kepler_train.train.protocols import Protocol

REPORT, PLOT = "README.md", "held_out.png"


def write_report(file: Path, spec: RunSpec, evaluation: Mapping[str, Any], isolation: Isolation, run: str) -> None:
    """Write the Markdown report of a run."""
    environment = Environment(  # noqa: S701  # Markdown, not HTML
        loader=PackageLoader("kepler_train.export"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["figure"] = _figure
    content = environment.get_template("report.md").render(
        spec=spec,
        run=run,
        models=dict(sorted(evaluation["models"].items(), key=lambda item: (item[0].split("/")[:3], item[1]["mae"]))),
        missing=evaluation["missing"],
        isolation=isolation,
        protocols=[str(protocol) for protocol in Protocol],
        blocked=str(Protocol.BLOCKED),
        workload=str(Protocol.WORKLOAD),
        plot=PLOT,
        version=__version__,
    )
    file.write_text(content, encoding="utf-8")


def _figure(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:z.{digits}f}"  # z: no -0.00
