"""What a pipeline was trained with: the spec of its run, and of a given frame what was found in it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from kepler_train.errors import UserError

ARGUMENTS = "train_arguments.json"


class TypeArguments(BaseModel):
    """What one node type of a pipeline was trained with, as far as it is read again."""

    model_config = ConfigDict(frozen=True)

    machine_id: str = ""
    energy_sources: list[str] = []
    feature_groups: list[str] = []
    output_types: list[str] = []
    start: datetime | None = None
    end: datetime | None = None


class TrainArguments(TypeArguments):
    """The arguments that are read again; the others are kept as they are, of whichever version they are.

    They are of the node type that was trained last; `earlier` has those of the other types, by number.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    node_type: int = 0
    own_node_type: bool = False
    earlier: dict[int, TypeArguments] = {}

    @classmethod
    def read(cls, pipeline: Path) -> TrainArguments:
        """Read the arguments in the folder of a pipeline; without the file nothing is known of them."""
        file = pipeline / ARGUMENTS
        try:
            return cls.model_validate_json(file.read_bytes()) if file.is_file() else cls()
        except ValidationError:
            raise UserError(f"{file} are not the arguments of a training: restore it from a copy.") from None

    @property
    def by_type(self) -> dict[int, TypeArguments]:
        """Return the arguments of every node type, by number."""
        own = {name: getattr(self, name) for name in TypeArguments.model_fields}
        return self.earlier | {self.node_type: TypeArguments(**own)}
