"""A step of a run, and its inputs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kepler_train.spec import RunSpec
from kepler_train.workspace.layout import Run
from kepler_train.workspace.manifest import Figures


@dataclass(frozen=True)
class Step:
    """A step by name: what it needs, and where its function is (imported only when it runs).

    `needs` are steps whose whole result is read, `needs_by` those that only some specs have; `gathers` are steps done
    in parts, of which those that are there are read. `parts` names the pieces that this step's own work can be split
    into: none when a spec has no such step. A step that reads more than its inputs is done `always`, even when it was
    done before. One that collects from `outside` of the workspace, or changes something there, is done again when
    somebody asks for it again; a retry of the same request takes the result of a try that had finished.
    """

    name: str
    function: str
    needs: tuple[str, ...] = ()
    needs_by: Callable[[RunSpec], tuple[str, ...]] = lambda _: ()
    gathers: tuple[str, ...] = ()
    parts: Callable[[RunSpec], list[str]] = lambda _: [""]  # in one piece
    always: bool = False
    outside: Literal["", "collects", "changes"] = ""

    def call(self, inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
        """Import the step's function, call it, and return its figures."""
        module, _, name = self.function.partition(":")
        figures: Figures = getattr(importlib.import_module(module), name)(inputs, spec, out)
        return figures


@dataclass(frozen=True)
class Inputs:
    """What a step may read: folders on this machine by step, parts of gathered steps, and its own part.

    In the folder of a gathered step each of its parts has a folder of its own.
    """

    run: Run
    part: str
    folders: Mapping[str, Path]
    gathered: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)

    def folder(self, step: str) -> Path:
        """Return the folder of a step that this one needs."""
        return self.folders[step]

    def parts(self, step: str) -> Mapping[str, Path]:
        """Return the folders of the finished parts of a gathered step."""
        return self.gathered[step]
