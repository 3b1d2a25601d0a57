"""Features that somebody chose in place of those of the feature group, kept with the plan of a run."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

_FILE = "chosen_features.json"


class ChosenFeatures(BaseModel):
    """The columns of the features, whether chosen by `group`, `frame` or `list`, and a note on the choice."""

    model_config = ConfigDict(frozen=True)

    columns: list[str]
    origin: str
    note: str

    def write(self, folder: Path) -> None:
        """Keep them in a folder."""
        (folder / _FILE).write_text(self.model_dump_json(indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> ChosenFeatures | None:
        """Return those that were kept in a folder; None where nobody chose any."""
        file = folder / _FILE
        return cls.model_validate_json(file.read_bytes()) if file.is_file() else None
