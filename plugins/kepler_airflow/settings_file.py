"""The settings file of an installation, `kepler-train.yaml`: which DAGs there are, and what differs between them.

The JSON schema of it is docs/kepler-train.schema.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kepler_train.errors import UserError, first_problem
from kepler_train.spec import NAME_PATTERN

Pairs = Annotated[
    list[str] | None,
    Field(description="Energy source and feature group, as in rapl-sysfs/BPFOnly; * stands for all of a kind."),
]
Schedule = Annotated[
    str | None, Field(description="Cron expression (UTC) of the regular run; empty: the DAG runs when it is triggered.")
]
Defaults = Annotated[dict[str, Any], Field(description="Defaults of run parameters, by name.")]
Nodes = Annotated[list[str] | None, Field(description="Default of the parameter nodes.")]
PublishTo = Annotated[str | None, Field(description="Default of the parameter publish_to.")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    pairs: Pairs = None
    schedule: Schedule = None
    defaults: Defaults = {}
    nodes: Nodes = None
    publish_to: PublishTo = None

    def run_defaults(self) -> dict[str, Any]:
        """Return the defaults of run parameters that this entry sets."""
        own = {"nodes": self.nodes, "publish_to": self.publish_to}
        return {**self.defaults, **{name: value for name, value in own.items() if value is not None}}


class DagEntry(_Entry):
    """What is different for one DAG; `pairs` makes a DAG of its own that trains several groups or sources."""


class SettingsFile(_Entry):
    """The content of `kepler-train.yaml`: what holds for all DAGs, and what is different for one."""

    dags: Annotated[
        dict[Annotated[str, Field(pattern=NAME_PATTERN)], DagEntry], Field(description="By the name of the DAG.")
    ] = {}


NO_FILE = SettingsFile()


def read_settings_file(file: Path) -> SettingsFile:
    """Return the settings of a file; refuse what is wrong with it in a sentence that names the line."""
    try:
        text = file.read_text(encoding="utf-8")
        tree = yaml.compose(text, yaml.SafeLoader)
        content = yaml.safe_load(text)
    except OSError as error:
        raise UserError(f"The settings {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(f"The settings {file} are not text in UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"{file}{where} is not YAML: {getattr(error, 'problem', None) or error}.") from None
    if content is None:
        return NO_FILE
    try:
        return SettingsFile.model_validate(content)
    except ValidationError as error:
        place = [part for part in error.errors()[0]["loc"] if part != "[key]"]
        name, message = first_problem(error)
        line = _line(tree, place)
        raise UserError(f"{file}, line {line}: {name + ': ' if name else ''}{message.rstrip('.')}.") from None


def _line(node: Any, path: list[int | str]) -> int:
    """Return the line of a value in a YAML document, by the keys that lead to it, as far as they lead."""
    line: int = node.start_mark.line + 1
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == str(step)]
            if not found:
                break
            line, node = found[0][0].start_mark.line + 1, found[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
    return line
