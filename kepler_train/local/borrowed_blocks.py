"""Somebody's Prometheus data folder, served without a byte being written into it."""

from __future__ import annotations

import shutil
from pathlib import Path

from kepler_train.errors import UserError

_RECENT = ("wal", "chunks_head")
"""Samples of the last hours, which are in no block yet. Prometheus writes to these, so they are copied."""


def borrow(data: Path, folder: Path) -> None:
    """Make `folder` a Prometheus data folder of the same samples: blocks are linked file by file, the rest is copied.

    A server locks its folder, writes into it, compacts blocks and removes those it no longer needs. On links it removes
    links; on the owner's folder it would remove the samples.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    blocks = [meta.parent for meta in sorted(data.glob("*/meta.json"))]
    recent = [data / name for name in _RECENT if (data / name).is_dir()]
    if not blocks and not recent:
        raise UserError(f"--prometheus-data: {data} has no blocks of Prometheus, which are folders with a meta.json.")
    try:
        for block in blocks:
            for file in block.rglob("*"):
                link = folder / block.name / file.relative_to(block)
                if file.is_file():
                    link.parent.mkdir(parents=True, exist_ok=True)
                    link.symlink_to(file.absolute())
        for part in recent:
            shutil.copytree(part, folder / part.name)
    except OSError as error:
        raise UserError(f"--prometheus-data: {error.filename or data} cannot be read: {error.strerror}.") from None
    except shutil.Error as error:
        raise UserError(f"--prometheus-data: {data} cannot be copied: {error.args[0][0][2]}.") from None
