"""Names of models: which one of a run, and what its folder and its tables are called."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from pydantic_core import core_schema


def model_name(trainer: str, node_type: int) -> str:
    """Return the name of a model's folder and archive, `<trainer>_<node type>`."""
    return f"{trainer}_{node_type}"


def trainer_of(name: str) -> str:
    """Return the trainer of a model's name."""
    return name.rpartition("_")[0]


def node_type_of_name(name: str) -> int | None:
    """Return the node type of a model's name; None for a name that is no model's."""
    number = name.rpartition("_")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None


def table_name(source: str, output_type: str) -> str:
    """Return what the files that compare models of a source and an output type begin with."""
    return f"{source}_{output_type}"


def error_table(source: str, output_type: str) -> str:
    """Return the file with the errors of published models of a source and an output type."""
    return f"{table_name(source, output_type)}_model_metadata.csv"


@dataclass(frozen=True)
class Family:
    """The models that learn from the same rows: `<source>/<output type>/<group>`."""

    source: str
    output_type: str
    group: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the name that `str` wrote."""
        parts = text.split("/")
        if len(parts) != len(fields(cls)) or not all(parts):
            form = "/".join(f"<{field.name}>" for field in fields(cls))
            raise ValueError(f"{text!r} is not of the form {form}")
        return cls(*parts)

    def __str__(self) -> str:
        return f"{self.source}/{self.output_type}/{self.group}"

    def __lt__(self, other: Family) -> bool:
        return str(self) < str(other)

    @property
    def table(self) -> str:
        """What the files that compare these models begin with."""
        return table_name(self.source, self.output_type)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Let pydantic read and write the name as text, also as a key."""
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls.parse(value),
            serialization=core_schema.to_string_ser_schema(when_used="always"),
        )


@dataclass(frozen=True)
class ModelKey(Family):
    """A model of a run: `<source>/<output type>/<group>/<trainer>`."""

    trainer: str

    def __str__(self) -> str:
        return f"{super().__str__()}/{self.trainer}"

    @property
    def family(self) -> Family:
        """The models that learn from the same rows."""
        return Family(self.source, self.output_type, self.group)
