"""The five attributes that decide a machine's node type, each of which may be unknown; likeness of machines."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

# Of the similarity of two machines; as kepler-model-server weighs them.
WEIGHTS = {"processor": 5.0, "cores": 1.0, "chips": 1.0, "memory": 0.5, "frequency": 0.5}


def _unknown_is_none(value: Any) -> Any:
    """Return None for an empty name or a zero, by which other tools mean unknown."""
    return None if value == "" or (value == 0 and not isinstance(value, bool)) else value


Name = Annotated[str | None, BeforeValidator(_unknown_is_none)]
Count = Annotated[Annotated[int, Field(gt=0)] | None, BeforeValidator(_unknown_is_none)]


class NodeAttributes(BaseModel):
    """Attributes of a machine as they stand in node_type_index.json; None is unknown."""

    model_config = ConfigDict(frozen=True)

    processor: Name = Field(
        default=None, description="Model name: lower case, underscores, without clock and trade marks."
    )
    cores: Count = Field(default=None, description="Logical CPUs.")
    chips: Count = Field(default=None, description="Sockets.")
    memory: Count = Field(default=None, description="GiB.")
    frequency: Count = Field(default=None, description="Highest clock in MHz, rounded to 100.")

    def attributes(self) -> dict[str, str | int | None]:
        """Return the five attributes by name, in the order of node_type_index.json."""
        return {name: getattr(self, name) for name in WEIGHTS}

    def unknown(self) -> list[str]:
        """Return the names of the attributes that are not known."""
        return [name for name, value in self.attributes().items() if value is None]

    def differing(self, other: NodeAttributes) -> list[str]:
        """Return the names of the known attributes that differ from those of `other`."""
        attributes, others = self.attributes(), other.attributes()
        return [name for name, value in attributes.items() if value is not None and value != others[name]]

    def contradicting(self, other: NodeAttributes) -> list[str]:
        """Return the names of the attributes that are known of both and differ."""
        others = other.attributes()
        return [name for name in self.differing(other) if others[name] is not None]

    def completed(self, other: NodeAttributes) -> NodeAttributes:
        """Return these attributes, and those of `other` where they are not known."""
        others = other.attributes()
        return NodeAttributes.model_validate(
            {name: others[name] if value is None else value for name, value in self.attributes().items()}
        )


def similarity(one: NodeAttributes, other: NodeAttributes) -> float:
    """Return how alike two machines are, from 0 to 1; 1 only when all attributes are known and equal.

    The weighted mean over the five attributes of
    - numbers a, b: 1 − |a − b| / ((a + b) / 2), not below 0;
    - processors: 1 when equal, else half the Jaccard index |A ∩ B| / |A ∪ B| of the sets of their letters;
    - whatever is unknown of either: 0.
    These are the definitions of kepler-model-server.
    """
    pairs = ((weight, getattr(one, name), getattr(other, name)) for name, weight in WEIGHTS.items())
    return sum(weight * _likeness(a, b) for weight, a, b in pairs) / sum(WEIGHTS.values())


def _likeness(a: str | int | None, b: str | int | None) -> float:
    if a is None or b is None:
        return 0.0
    if isinstance(a, str) or isinstance(b, str):
        return _likeness_of_names(str(a).lower(), str(b).lower())
    return max(0.0, 1 - abs(a - b) / ((a + b) / 2))


def _likeness_of_names(a: str, b: str) -> float:
    letters, others = set(a), set(b)
    return 1.0 if a == b else 0.5 * len(letters & others) / len(letters | others)
