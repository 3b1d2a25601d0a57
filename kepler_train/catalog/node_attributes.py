"""What decides a machine's node type: five attributes, any of which may be unknown."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _unknown_is_none(value: Any) -> Any:
    """Other tools write an empty name or a zero for what they could not find out."""
    return None if value == "" or (value == 0 and not isinstance(value, bool)) else value


Name = Annotated[str | None, BeforeValidator(_unknown_is_none)]
Count = Annotated[Annotated[int, Field(gt=0)] | None, BeforeValidator(_unknown_is_none)]


class NodeAttributes(BaseModel):
    """Attributes of a machine as they stand in node_type_index.json; None is unknown."""

    model_config = ConfigDict(frozen=True)

    processor: Name = Field(None, description="Model name: lower case, underscores, without clock and trade marks.")
    cores: Count = Field(None, description="Logical CPUs.")
    chips: Count = Field(None, description="Sockets.")
    memory: Count = Field(None, description="GiB.")
    frequency: Count = Field(None, description="Highest clock in MHz, rounded to 100.")
