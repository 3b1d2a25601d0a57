"""Where a run's files are: `<root>/runs/<pipeline>/<run id>/<step>/[<part>/]…`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, unquote

from kepler_train.errors import UserError
from kepler_train.spec import NAME_PATTERN
from kepler_train.workspace.manifest import MANIFEST, Manifest
from kepler_train.workspace.stores import FileStore

# What Airflow allows in a run id, and a folder name can hold; never only dots.
_RUN_ID = re.compile(r"(?!\.+$)[A-Za-z0-9_.~:+-]{1,250}")


@dataclass(frozen=True)
class Run:
    """One run of one pipeline in a store; `log` is where a person finds what its steps wrote."""

    log: ClassVar[str] = "the log of its task"

    store: FileStore
    pipeline: str
    run_id: str

    @classmethod
    def named(cls, store: FileStore, name: str) -> Run:
        """Return the run of the name `<pipeline>/<run id>`."""
        pipeline, slash, run_id = name.partition("/")
        if not slash or not re.fullmatch(NAME_PATTERN, pipeline) or not _RUN_ID.fullmatch(run_id):
            raise UserError(
                f"{name!r} does not name a run: write <pipeline>/<run id>,"
                " of letters, digits and ._- (in the run id also ~:+)."
            )
        return cls(store, pipeline, run_id)

    @property
    def name(self) -> str:
        """Return `<pipeline>/<run id>`."""
        return f"{self.pipeline}/{self.run_id}"

    def folder(self, step: str, part: str = "") -> str:
        """Return the key of a step's folder; a part is one of several pieces of the step's work."""
        return f"runs/{self.pipeline}/{self.run_id}/{step}" + (f"/{part}" if part else "")

    def manifest(self, step: str, part: str = "", recheck: bool = True) -> Manifest | None:
        """Return the manifest of a finished step, or None; without `recheck` a store is believed at once."""
        key = f"{self.folder(step, part)}/{MANIFEST}"
        content = self.store.read(key, recheck)
        return None if content is None else Manifest.read(content, f"{self.store.uri}/{key}")


def part_of(name: str) -> str:
    """Return a name of any characters as the part of a step: the name of one folder, quoted where needed."""
    return quote(name, ":", errors="surrogatepass") if name.strip(".") else name.replace(".", "%2E")


def name_of(part: str) -> str:
    """Return the name that `part_of` quoted."""
    return unquote(part, errors="surrogatepass")


def files_of(folder: Path, name: str) -> list[Path]:
    """Return the files of a name that a step wrote: one, or that of each part."""
    return [folder / name] if (folder / name).exists() else sorted(folder.glob(f"*/{name}"))
