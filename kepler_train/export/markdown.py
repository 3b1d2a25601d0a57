"""Templates of Markdown pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template


@cache  # two hundred models of a run have a card each
def template(name: str, **filters: Callable[..., str]) -> Template:
    """Return a template of `export/templates/` that knows these filters."""
    environment = Environment(  # noqa: S701  # Markdown, not HTML
        loader=PackageLoader("kepler_train.export"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= filters
    return environment.get_template(name)
