"""Find files by the names that people type, below DATAPATH or MODEL_PATH; write outputs whole or not at all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train.cli.exchange import put_in_place
from kepler_train.cli.results import is_like
from kepler_train.errors import UserError
from kepler_train.scratch import ScratchFolder

_FRAMES = (".parquet", ".csv")


def data_path(name: str) -> Path:
    """Return the path of a file or folder of data; a relative name is below DATAPATH."""
    return Path(os.environ.get("DATAPATH") or ".").expanduser() / Path(name).expanduser()


def model_path(name: str) -> Path:
    """Return the folder of a pipeline; a relative name is below MODEL_PATH."""
    return Path(os.environ.get("MODEL_PATH") or "models").expanduser() / Path(name).expanduser()


def named(name: str, suffix: str) -> Path:
    """Return the path of a file of data, with the suffix that people leave out."""
    if _is_no_name(name):
        raise UserError(f"{name!r} is a folder: give the name of a file.")
    path = data_path(name)
    return path if path.suffix == suffix else path.with_name(path.name + suffix)


def _is_no_name(name: str) -> bool:
    return Path(name).name in ("", "..")


def table_path(name: str) -> Path:
    """Return the path of a table: CSV or Parquet by its suffix, Parquet without one."""
    return data_path(name) if Path(name).suffix in (".csv", ".parquet") else named(name, ".parquet")


def frame_file(name: str, *, or_query: bool = False) -> Path | None:
    """Return the file of a frame, whose suffix may be left out; None where no such file exists.

    Refuse a name without a suffix that stands for several frames or, with `or_query`, for a frame and a query.
    """
    whole = data_path(name)
    if whole.is_file() and whole.suffix in _FRAMES:
        return whole
    frames = [file for suffix in _FRAMES if (file := data_path(f"{name}{suffix}")).is_file()]
    meant = list(map(str, frames))
    if or_query:
        meant += [f"{whole}/"] if any(whole.glob("*.parquet")) else []
        meant += [f"{whole}.json"] if data_path(f"{name}.json").is_file() else []
    if frames and len(meant) > 1:
        raise UserError(f"{name} may be {' or '.join(meant)}: write the one you mean.")
    return frames[0] if frames else None


@contextmanager
def query_samples(name: str) -> Iterator[Path]:
    """Yield the folder of samples that a query left, or one made from its kepler_query.json."""
    folder, a_folder = data_path(name), name.endswith("/") or _is_no_name(name)
    file = folder if a_folder or name.endswith(".json.gz") else named(name, ".json")
    if folder.is_dir() and file.is_file():
        raise UserError(f"There are both {folder}/ and {file}: write {name}/ or {name}.json for the one you mean.")
    if file.is_file():
        from kepler_train.samples.kepler_query_json import import_json

        with scratch() as samples:
            import_json(file, samples)
            yield samples
    elif folder.is_dir() and any(folder.glob("*.parquet")):
        yield folder
    elif frame_file(name):
        raise UserError(
            f"{folder} is a frame, and a query is wanted: name a folder of samples or a kepler_query.json, or use"
            " isolate-from-data or train-from-data."
        )
    elif folder.suffix in (".csv", ".parquet"):
        raise UserError(f"There is no frame {folder}: name a .csv or .parquet file.")
    else:
        raise UserError(f"There is no query {folder}: neither a folder of samples nor a kepler_query.json.")


@contextmanager
def scratch(beside: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder that disappears afterwards, on the file system of `beside` if that is given."""
    try:
        if beside:
            beside.parent.mkdir(parents=True, exist_ok=True)
        folder = ScratchFolder(beside.parent, hidden=True) if beside else ScratchFolder()
    except OSError as error:
        if not beside:
            raise
        raise UserError(f"{beside} cannot be written: {error.strerror}. Choose another place.") from None
    with folder as work:
        yield work


@contextmanager
def whole_file(
    path: Path, replaceable: Callable[[Path], bool] | None = None, inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """Yield a file to write to; it takes the name `path` when all went well, and the place of an earlier result.

    Without `replaceable` a result is told by being like the new one. What is read is never replaced.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder: choose another name for the file.")
    if path.exists():
        if any(path.samefile(file) for file in inputs):
            raise UserError(f"{path} is what is read, and is left as it is: choose another name for the output.")
        if replaceable and not replaceable(path):
            raise _taken(path)
    with scratch(path) as folder:
        new = folder / path.name
        yield new
        if replaceable is None and path.exists() and not is_like(path, new):
            raise _taken(path)
        new.replace(path)


def _taken(path: Path) -> UserError:
    return UserError(f"{path} holds something else and is left as it is: choose another name.")


@contextmanager
def whole_folder(path: Path, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield a folder to make; it takes the name `path` when all went well, and the place of an earlier result."""
    filled = path.is_dir() and any(path.iterdir())
    if _is_no_name(str(path)) or (filled and not replaceable(path)) or (path.exists() and not path.is_dir()):
        raise _taken(path)
    with scratch(path) as folder:
        new = folder / path.name
        yield new
        try:
            put_in_place(new, path)
        except OSError as error:
            raise UserError(f"{path} cannot be replaced: {error.strerror}. Choose another name.") from None


def is_query(folder: Path) -> bool:
    """Return whether a folder holds samples and nothing else."""
    return all(file.suffix == ".parquet" for file in folder.iterdir())


@contextmanager
def alone_beside(file: Path) -> Iterator[None]:
    """Hold a lock beside a file or folder: of two that add at once, the second must read what the first wrote."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(file.parent, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}. Choose another place.") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # ends with the descriptor
        yield
    finally:
        os.close(folder)
