"""Isolators by name: what each takes for the power of the background, and what it needs to be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kepler_train.errors import UserError

if TYPE_CHECKING:  # the names are asked for where pandas is not needed
    from kepler_train.spec import RunSpec

MAY_USE_PROFILE = ("auto", "profile")


def check_isolation(spec: RunSpec) -> None:
    """Refuse an isolator that lacks what only the user can tell."""
    if spec.isolator != "trainer":
        return
    if not spec.abs_pipeline:
        raise UserError("The isolator trainer needs the pipeline of an AbsPower model: name one in abs_pipeline.")
    if not spec.target_hints and not spec.bg_hints:
        raise UserError(
            "The isolator trainer needs to know the load from the background: give parts of pod names in target_hints"
            " or bg_hints."
        )
