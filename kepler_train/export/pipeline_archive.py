"""A whole pipeline as one zip: what an earlier model server downloads and unpacks into its folder of models."""

from __future__ import annotations

import shutil
import stat
import zipfile
from pathlib import Path

from kepler_train.models.archive import BROKEN, EPOCH

_COMMENT = b"kepler-train: pipeline "
_LEVEL = 1  # as of archives of models
_WHOLE = 64 * 2**20  # bytes; larger files, as tables of rows can be, are not read into memory whole


def write_pipeline_archive(pipeline: Path, archive: Path) -> None:
    """Put all files of a pipeline into a zip, by their paths in its folder; the same files give the same bytes."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        target.comment = _COMMENT + pipeline.name.encode()
        for file in sorted(path for path in pipeline.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(pipeline).as_posix(), EPOCH)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            # Archives of models do not become smaller.
            entry.compress_type = zipfile.ZIP_STORED if file.suffix in (".zip", ".png") else zipfile.ZIP_DEFLATED
            if file.stat().st_size <= _WHOLE:
                target.writestr(entry, file.read_bytes(), compresslevel=_LEVEL)
            else:
                with file.open("rb") as source, target.open(entry, "w", force_zip64=True) as packed:
                    shutil.copyfileobj(source, packed)


def is_pipeline_archive(archive: Path, pipeline: str) -> bool:
    """Tell whether a file is the zip of this pipeline that we wrote."""
    try:
        with zipfile.ZipFile(archive) as content:
            return content.comment == _COMMENT + pipeline.encode()
    except (*BROKEN, OSError):
        return False
