"""The node types of a pipeline that has several, as a section of its report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from kepler_train.export.arguments import TrainArguments
from kepler_train.export.html_report import HTML_REPORT
from kepler_train.export.layout import ERROR_REPORT
from kepler_train.export.report import REPORT
from kepler_train.machine.node_types import NODE_TYPES, NodeType, NodeTypeIndex
from kepler_train.model_key import model_name
from kepler_train.models.files import METADATA

_HEAD = "## Node types\n"
_NEXT = "\n## "
_MAIN = "<main>\n"
_PAGE_SECTION = re.compile(r'<section id="types">.*?</section>\n', re.DOTALL)


def add_type_section(pipeline: Path) -> None:
    """Write a table of all node types into the report, before its first section; what follows is on one of them."""
    index = NodeTypeIndex.read(pipeline / NODE_TYPES)
    last = TrainArguments.read(pipeline).node_type
    report, page = pipeline / REPORT, pipeline / HTML_REPORT
    if report.is_file():
        head, found, rest = _without_section(report.read_text(encoding="utf-8")).partition(_NEXT)
        section = "\n".join(_lines(pipeline, index, last))
        report.write_text(f"{head.rstrip()}\n\n{section}\n{found}{rest}", encoding="utf-8")
    if page.is_file():
        head, found, rest = _PAGE_SECTION.sub("", page.read_text(encoding="utf-8"), count=1).partition(_MAIN)
        section = "".join(_page_lines(pipeline, index, last)) if found else ""
        page.write_text(f"{head}{found}{section}{rest}", encoding="utf-8")


def _without_section(text: str) -> str:
    """Return a report without the table of node types of an earlier training."""
    head, found, rest = text.partition(f"\n{_HEAD}")
    return f"{head.rstrip()}\n{''.join(rest.partition(_NEXT)[1:])}" if found else text


def _page_lines(pipeline: Path, index: NodeTypeIndex, last: int) -> Iterator[str]:
    """Yield the section of the page for browsers, which names no other file: it is read alone."""
    yield '<section id="types">\n<h2>Node types</h2>\n'
    yield f"<p>The pipeline has {len(index.types)} node types; this page is on type {last}, trained last.</p>\n"
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in ("node type", "machine", "members", "models"))
    yield "</tr></thead><tbody>\n"
    for number, kind in sorted(index.types.items()):
        cells = (str(number), _machine(kind), ", ".join(kind.members) or "–", str(_models(pipeline, number)))
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>\n"
    yield "</tbody></table></div>\n</section>\n"


def _machine(kind: NodeType) -> str:
    return ", ".join(f"{name} {value}" for name, value in kind.attrs.attributes().items() if value) or "not known"


def _models(pipeline: Path, number: int) -> int:
    return len(list(pipeline.glob(f"*/*/*/{model_name('*', number)}/{METADATA}")))


def _lines(pipeline: Path, index: NodeTypeIndex, last: int) -> Iterator[str]:
    yield _HEAD
    yield f"The pipeline has {len(index.types)} node types; this report is on type {last}, which was trained last.\n"
    yield "| node type | machine | members | models | errors | report |"
    yield "|---|---|---|---:|---|---|"
    for number, kind in sorted(index.types.items()):
        page = HTML_REPORT if number == last else f"{ERROR_REPORT}/node_type_{number}.html"
        links = (_link(pipeline, f"{ERROR_REPORT}/node_type_{number}.md", "errors"), _link(pipeline, page, "report"))
        members = ", ".join(kind.members) or "–"
        cells = (str(number), _machine(kind), members, str(_models(pipeline, number)), *links)
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _link(pipeline: Path, file: str, text: str) -> str:
    return f"[{text}]({file})" if (pipeline / file).is_file() else "–"
