"""Who asks for a step: decides whether an earlier result of it stands."""

from __future__ import annotations

from dataclasses import dataclass

from kepler_train.workspace.manifest import Manifest
from kepler_train.workspace.step import Step


@dataclass(frozen=True)
class Request:
    """One request for a step; all its tries have the same `name`. To `reuse` is to collect nothing again."""

    name: str = ""
    reuse: bool = False

    def why_stands(self, step: Step, done: Manifest) -> str:
        """Return why an earlier result stands if its inputs are the same; empty when the step is to be done again."""
        when = f"{done.ended:%Y-%m-%d %H:%M:%S} UTC"
        if not step.outside:
            return f"nothing has changed since {when}; its result stands."
        if self.name and done.request == self.name:
            return f"an earlier try of the same task had done it at {when}; its result stands."
        if self.reuse and step.outside == "collects":
            return f"the result of {when} is taken, as the parameter reuse asks; nothing was collected again."
        return ""


NO_REQUEST = Request()
"""A person at the command line: each time is a request of its own."""
