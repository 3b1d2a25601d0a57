"""The SBOMs: valid CycloneDX, the same bytes each time, and nothing of this machine in them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from locks import locked

from kepler_train import __version__

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv.audit" / "bin" / "python"

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="no .venv.audit: make sbom makes it")

# Prints the SBOM of the image only: the one of .venv takes half a minute.
PRINT = "import sys, sbom; from pathlib import Path; print(sbom.step_image({}, 'a test'))"


def step_image(components: str) -> str:
    """The SBOM of the image; it fails when the schema does."""
    program = [str(PYTHON), "-c", PRINT.format(components)]
    return subprocess.run(program, cwd=ROOT / "scripts", capture_output=True, text=True, check=True).stdout


def parts(text: str) -> dict[str, dict]:
    return {component["purl"]: component for component in json.loads(text)["components"]}


@pytest.fixture(scope="module")
def text() -> str:
    """The SBOM of the image as it would be built."""
    return step_image("sbom.expected_components(Path('../.venv'))")


def test_the_image_as_it_would_be_built_has_base_program_and_every_locked_package(text: str):
    wanted = locked(ROOT / "requirements" / "step.txt")
    assert set(parts(text)) == {
        "pkg:docker/python@3.11-slim-bookworm",
        "pkg:deb/debian/stress-ng?distro=bookworm",
        f"pkg:pypi/kepler-train@{__version__}",
        *(f"pkg:pypi/{name}@{version}" for name, version in wanted.items()),
    }
    python = {purl: part for purl, part in parts(text).items() if purl.startswith("pkg:pypi/")}
    assert [purl for purl, part in python.items() if not part.get("licenses")] == []
    needs = {one["ref"]: one.get("dependsOn", []) for one in json.loads(text)["dependencies"]}
    assert f"pkg:pypi/numpy@{wanted['numpy']}" in needs[f"pkg:pypi/pandas@{wanted['pandas']}"]
    assert set(needs["image"]) == set(parts(text))


def test_the_same_contents_give_the_same_bytes_without_time_number_or_path(text: str):
    assert text == step_image("sbom.expected_components(Path('../.venv'))")
    assert not {"timestamp", "serialNumber"} & (set(json.loads(text)) | set(json.loads(text)["metadata"]))
    assert str(ROOT) not in text


def test_a_built_image_is_read_from_its_files(tmp_path: Path):
    site = tmp_path / "opt/kepler-train/lib/python3.11/site-packages/thing-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.4\nName: Thing\nVersion: 1.0\nLicense-Expression: MIT\n")
    (tmp_path / "usr/local/include/python3.11").mkdir(parents=True)
    (tmp_path / "usr/local/include/python3.11/patchlevel.h").write_text('#define PY_VERSION      \t"3.11.9"\n')
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(
        "Package: stress-ng\nStatus: install ok installed\nArchitecture: amd64\nVersion: 0.15.06-2\n"
        "Description: tool to load\n and stress\n .\n with empty lines\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n\n"
    )
    assert set(parts(step_image(f"sbom.image_components(Path({str(tmp_path)!r}))"))) == {
        "pkg:deb/debian/stress-ng@0.15.06-2?arch=amd64&distro=bookworm",
        "pkg:generic/python@3.11.9",
        "pkg:pypi/thing@1.0",
    }
