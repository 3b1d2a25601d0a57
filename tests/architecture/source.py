"""The source of the product, as text and as syntax trees."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "kepler_train"


@cache
def modules() -> dict[Path, ast.Module]:
    """Return the syntax tree of every module of the package and the plugins, by its path in the repository."""
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "plugins").rglob("*.py"), *(ROOT / "dags").rglob("*.py")]
    return {file.relative_to(ROOT): ast.parse(file.read_text(encoding="utf-8")) for file in sorted(files)}


def attributes_read(outside: set[Path]) -> set[str]:
    """Return the names of all attributes that modules read, but for the modules `outside`."""
    return {
        node.attr
        for file, tree in modules().items()
        if file not in outside
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    }
