"""Write docs/licences.md: the licence of every Python package in the image of the steps, as the package states it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path

from locks import locked

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "licences.md"

# Free licences that allow to pass the image on with nothing but their texts (MPL-2.0: and its unchanged files).
FREE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU"),
    *("MPL-2.0", "PSF-2.0", "Unlicense", "Zlib"),
}
_SPELLINGS = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license v2.0": "Apache-2.0",
    "cc0-1.0 or apache-2.0": "CC0-1.0 OR Apache-2.0",
    "isc license": "ISC",
    "mit license": "MIT",
} | {name.lower(): name for name in FREE}
_CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "License :: OSI Approved :: The Unlicense (Unlicense)": "Unlicense",
}
# Families of licences: which one it is, the text tells.
_FAMILIES = {"License :: OSI Approved", "License :: OSI Approved :: BSD License"}
# What only the text of that licence says. The package's own licence comes first, those of libraries it carries follow.
_OWN_TEXT = 3000  # characters
_TEXTS = {
    "Apache-2.0": r"Apache License,?\s+Version 2\.0",
    "BSD-3-Clause": r"Redistribution and use in source and binary forms.*Neither the names? of",
    "GPL": r"(?i:GENERAL PUBLIC LICENSE)",
    "MIT": r"Permission is hereby granted, free of charge, to any person obtaining a copy",
}
_HEAD = """# Licences

The Python packages in the image of the steps, with the licence that each states in its metadata or its licence file. `make licences` writes this page; a test fails when a package has no licence here that is known and free.

Wheels such as numpy, scipy and pillow carry compiled libraries with licences of their own (such as GCC's run-time libraries, GPL-3.0-or-later with GCC's exception): their texts are in the package's licence files. The image also has Debian's packages, among them stress-ng (GPL-2.0-or-later), which is called as a program; their licences are in `/usr/share/doc/*/copyright` of the image.

| package | version | licence |
|---|---|---|
"""  # noqa: E501


def licence(package: Distribution) -> str:
    """Return the licence of an installed package as an SPDX expression; empty when it does not say one we know."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    field = str(metadata.get("License") or "")
    classifiers = {one for one in metadata.get_all("Classifier") or [] if one.startswith("License ::")}
    if classifiers - _FAMILIES - set(_CLASSIFIERS):
        return ""
    stated = (
        _SPELLINGS.get(field.strip().lower()),
        "" if classifiers & _FAMILIES else _joined(_CLASSIFIERS[one] for one in classifiers),
        _of_text(field),
        _joined(_of_text(text) for text in _licence_files(package)),
    )
    return next(filter(None, stated), "")


def is_free(expression: str) -> bool:
    """Tell whether every licence of an expression is one of the free ones that we know."""
    names = set(re.findall(r"[\w.+-]+", expression)) - {"AND", "OR"}
    return bool(names) and names <= FREE


def stated() -> dict[str, tuple[str, str]]:
    """Return the version and the licence of every package of the image, by name, as this environment knows them."""
    packages = locked(ROOT / "requirements" / "step.txt")
    found = {name: next(iter(Distribution.discover(name=name)), None) for name in packages}
    return {name: (version, licence(one) if (one := found[name]) else "") for name, version in packages.items()}


def table() -> str:
    """Return the page."""
    rows = (f"| {name} | {version} | {words or 'unknown'} |\n" for name, (version, words) in stated().items())
    return _HEAD + "".join(rows)


def _of_text(text: str) -> str:
    return _joined(name for name, words in _TEXTS.items() if re.search(words, text[:_OWN_TEXT], re.DOTALL))


def _joined(names: Iterable[str]) -> str:
    """Return names as one expression. Whether one may choose among them is not known, so all of them hold."""
    return " AND ".join(sorted({name for name in names if name}))


def _licence_files(package: Distribution) -> Iterator[str]:
    for file in package.files or []:
        if ".dist-info" in str(file) and re.match(r"(licen[cs]e|copying)", file.name, re.IGNORECASE):
            yield file.read_text(encoding="utf-8")


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
    print(f"{TABLE.relative_to(ROOT)} has {len(stated())} packages.")
    if doubtful := {name: words or "none" for name, (_, words) in stated().items() if not is_free(words)}:
        sys.exit(f"Not known to be free: {doubtful}. Read the texts, then add to scripts/licences.py or do without.")
