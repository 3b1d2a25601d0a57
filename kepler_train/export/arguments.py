"""What a pipeline was trained with: the spec of its run, and of a given frame what was found in it."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

ARGUMENTS = "train_arguments.json"


class TrainArguments(BaseModel):
    """The arguments that are read again; the others are kept as they are, of whichever version they are."""

    model_config = ConfigDict(frozen=True, extra="allow")

    machine_id: str = ""
    energy_sources: list[str] = []
    feature_groups: list[str] = []
    output_types: list[str] = []
    start: datetime | None = None
    end: datetime | None = None
    node_type: int = 0
