"""Pages from templates: texts escaped, one style and one script, both inside the page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

_SCRIPTS = ("kepler_airflow.models_page/templates/theme.js", "kepler_train.export/templates/report.js")


def _script() -> str:
    """Return the script of every page: Airflow's choice of light or dark, and tables that are sorted by a click."""
    texts = (files(package).joinpath(path) for package, _, path in (name.partition("/") for name in _SCRIPTS))
    return "\n".join(text.read_text(encoding="utf-8") for text in texts)


SCRIPT = _script()
_DIGEST = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}';"
        " form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
    ),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


def render(template: str, **content: Any) -> str:
    """Return a page as HTML."""
    return _environment().get_template(f"pages/{template}").render(script=SCRIPT, **content)


@cache
def _environment() -> Environment:
    loader = PrefixLoader(
        {"pages": PackageLoader("kepler_airflow.models_page"), "report": PackageLoader("kepler_train.export")}
    )
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters: dict[str, Callable[..., str]] = {
        "watts": _watts,
        "percent": _percent,
        "size": _size,
        "minute": _minute,
        "link": lambda text: quote(str(text), safe="/"),
    }
    environment.filters |= filters
    return environment


def _watts(value: float | None) -> str:
    return "–" if value is None else f"{value:z,.2f}"  # z: no -0.00


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:z,.1f}"


def _size(value: int) -> str:
    """Return a number of bytes as people read it."""
    return f"{value / 1e6:,.1f} MB" if value >= 100_000 else f"{value / 1e3:,.1f} kB"


def _minute(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment else "–"
