"""The node types of a pipeline that has several, as a section of its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kepler_train.export.arguments import TrainArguments
from kepler_train.export.html_report import HTML_REPORT
from kepler_train.export.layout import ERROR_REPORT
from kepler_train.export.report import REPORT
from kepler_train.machine.node_types import NODE_TYPES, NodeTypeIndex
from kepler_train.model_key import model_name
from kepler_train.models.files import METADATA

_HEAD = "## Node types\n"
_NEXT = "\n## "


def add_type_section(pipeline: Path) -> None:
    """Write a table of all node types into the report, before its first section; what follows is on one of them."""
    report = pipeline / REPORT
    text = report.read_text(encoding="utf-8")
    index = NodeTypeIndex.read(pipeline / NODE_TYPES)
    last = TrainArguments.read(pipeline).node_type
    section = "\n".join(_lines(pipeline, index, last))
    head, found, rest = text.partition(_NEXT)
    report.write_text(f"{head.rstrip()}\n\n{section}\n{found}{rest}", encoding="utf-8")


def _lines(pipeline: Path, index: NodeTypeIndex, last: int) -> Iterator[str]:
    yield _HEAD
    yield f"The pipeline has {len(index.types)} node types; this report is on type {last}, which was trained last.\n"
    yield "| node type | machine | members | models | errors | report |"
    yield "|---|---|---|---:|---|---|"
    for number, kind in sorted(index.types.items()):
        known = ", ".join(f"{name} {value}" for name, value in kind.attrs.attributes().items() if value)
        models = len(list(pipeline.glob(f"*/*/*/{model_name('*', number)}/{METADATA}")))
        page = HTML_REPORT if number == last else f"{ERROR_REPORT}/node_type_{number}.html"
        links = (_link(pipeline, f"{ERROR_REPORT}/node_type_{number}.md", "errors"), _link(pipeline, page, "report"))
        cells = (str(number), known or "not known", ", ".join(kind.members) or "–", str(models), *links)
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _link(pipeline: Path, file: str, text: str) -> str:
    return f"[{text}]({file})" if (pipeline / file).is_file() else "–"
