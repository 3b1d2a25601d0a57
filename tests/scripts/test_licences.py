"""Licences: as packages state them, and nothing in the image whose licence is unknown or not free."""

from __future__ import annotations

from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest
from licences import TABLE, is_free, licence, stated, table

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"
BSD = "Redistribution and use in source and binary forms …\n3. Neither the name of the author nor …"
APPROVED = "License :: OSI Approved"


def package(folder: Path, *headers: str, text: str = "") -> Distribution:
    """A package as pip leaves it, with a licence file."""
    home = folder / "thing-1.0.dist-info"
    (home / "licenses").mkdir(parents=True)
    (home / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", "Name: thing", "Version: 1.0", *headers, ""]))
    (home / "licenses" / "LICENSE.txt").write_text(text)
    (home / "RECORD").write_text("thing-1.0.dist-info/licenses/LICENSE.txt,,\n")
    return PathDistribution(home)


def test_every_package_of_the_image_states_a_licence_that_is_known_and_free():
    assert {name: words for name, (_, words) in stated().items() if not is_free(words)} == {}
    assert len(stated()) > 40


def test_the_page_of_licences_is_what_make_licences_writes():
    assert TABLE.read_text(encoding="utf-8") == table()


@pytest.mark.parametrize(
    ("headers", "text", "said"),
    [
        (["License-Expression: Apache-2.0 OR BSD-2-Clause"], "", "Apache-2.0 OR BSD-2-Clause"),
        (["License: Apache License 2.0"], "", "Apache-2.0"),
        (["License: Something", f"Classifier: {APPROVED} :: MIT License"], "", "MIT"),
        ([f"Classifier: {APPROVED} :: BSD License"], BSD, "BSD-3-Clause"),  # a family: the text tells which
        ([f"Classifier: {APPROVED}"], MIT, "MIT"),
        ([], MIT + "\n" + "…" * 3000 + BSD, "MIT"),  # what comes after belongs to libraries in the wheel
        ([], "", ""),
        (["License: Dual License"], "", ""),
        ([f"Classifier: {APPROVED} :: BSD License"], "Ask our lawyers.", ""),
        ([f"Classifier: {APPROVED} :: GNU General Public License v3 (GPLv3)"], MIT, ""),
        (["Classifier: License :: Other/Proprietary License", f"Classifier: {APPROVED} :: MIT License"], MIT, ""),
        ([], "GNU GENERAL PUBLIC LICENSE\nVersion 3\n" + MIT, "GPL AND MIT"),
    ],
)
def test_a_licence_is_what_a_package_states(tmp_path: Path, headers: list[str], text: str, said: str):
    assert licence(package(tmp_path, *headers, text=text)) == said


@pytest.mark.parametrize(
    "words", ["", "GPL-3.0-only", "MIT AND LicenseRef-Ours", "GPL AND MIT", "SSPL-1.0", "MIT OR BUSL-1.1", "unknown"]
)
def test_what_is_unknown_or_not_free_is_not_taken(words: str):
    assert not is_free(words)


def test_several_free_licences_are_free():
    assert is_free("BSD-3-Clause AND 0BSD AND (MIT OR Zlib) AND CC0-1.0")
