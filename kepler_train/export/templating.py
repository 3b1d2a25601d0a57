"""Templates of Markdown and HTML pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape


@cache  # two hundred models of a run have a card each
def template(name: str, **filters: Callable[..., str]) -> Template:
    """Return a template of `export/templates/` that knows these filters; texts in .html pages are escaped."""
    environment = Environment(
        loader=PackageLoader("kepler_train.export"),
        autoescape=select_autoescape(enabled_extensions=("html",), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment.get_template(name)
