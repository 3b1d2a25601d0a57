"""Write CycloneDX SBOMs of .venv and of the image of the steps; the same contents give the same bytes.

The image is read from its lock file and its Dockerfile, or, with --image-root, from the file system of a built image.
Runs in the environment of requirements/audit.txt.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from email.parser import Parser
from importlib.metadata import Distribution
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from licences import licence
from locks import IMAGE, locked
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = ROOT / "docker" / "step" / "Dockerfile"


def main() -> None:
    """Write both files and tell what they were read from."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--venv", type=Path, default=ROOT / ".venv")
    options.add_argument("--image-root", type=Path, help="folder with the files of a built image")
    options.add_argument("--out", type=Path, default=ROOT / "dist" / "sbom")
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)

    venv = asked.out / "venv.cdx.json"
    reproducible = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "--output-file", str(venv)]
    program = [sys.executable, "-m", "cyclonedx_py", "environment", str(asked.venv / "bin" / "python"), *reproducible]
    subprocess.run(program, check=True)  # validates what it writes
    print(f"{os.path.relpath(venv)}: what is installed in {asked.venv.name}")

    image = asked.out / "step-image.cdx.json"
    if asked.image_root:
        components, source = image_components(asked.image_root), "the file system of the image"
    else:
        components, source = expected_components(asked.venv), "requirements/step.txt and docker/step/Dockerfile"
    image.write_text(step_image(components, source), encoding="utf-8")
    print(f"{os.path.relpath(image)}: read from {source}")


def step_image(components: Iterable[tuple[Component, list[str]]], source: str) -> str:
    """Return the SBOM of the image with these components, each with the names of those it needs."""
    bom = Bom()
    image = Component(name="kepler-train-step", version=_own_version(), type=ComponentType.CONTAINER, bom_ref="image")
    bom.metadata.component = image
    bom.metadata.properties.add(Property(name="kepler-train:read-from", value=source))
    listed = {str(component.purl): (component, needs) for component, needs in components}
    python = {component.name: component for component, _ in listed.values() if component.purl.type == "pypi"}
    bom.components.update(component for component, _ in listed.values())
    bom.register_dependency(image, bom.components)
    for component, needs in listed.values():
        bom.register_dependency(component, [python[name] for name in needs if name in python])
    # The library invents both anew each time.
    bom.serial_number = None  # type: ignore[assignment]
    bom.metadata.timestamp = None  # type: ignore[assignment]
    text = JsonV1Dot6(bom).output_as_string(indent=2) + "\n"
    if problem := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(f"This is no CycloneDX: {problem}")
    return text


def expected_components(venv: Path) -> Iterator[tuple[Component, list[str]]]:
    """Yield what a build of the image would install. Licences and dependencies are those that .venv has."""
    text = DOCKERFILE.read_text(encoding="utf-8")
    (base,) = set(re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE))
    name, _, tag = base.partition(":")
    purl = PackageURL("docker", None, name, tag)
    yield Component(name=name, version=tag, type=ComponentType.CONTAINER, purl=purl, bom_ref=str(purl)), []
    for packages in re.findall(r"apt-get install [-\w= ]*--no-install-recommends ([-\w ]+)", text):
        yield from ((_debian(package, None, {"distro": "bookworm"}), []) for package in packages.split())
    site = next(venv.glob("lib/python3*/site-packages"))
    packages = {"kepler-train": _own_version()} | locked(ROOT / "requirements" / "step.txt")
    for package, version in packages.items():
        metadata = next(iter(Distribution.discover(name=package, path=[str(site)])), None)
        yield _python(package, version, metadata)


def image_components(root: Path) -> Iterator[tuple[Component, list[str]]]:
    """Yield Debian's packages, Python and its packages that are installed below a folder."""
    for stanza in (root / "var/lib/dpkg/status").read_text(encoding="utf-8").strip().split("\n\n"):
        fields = Parser().parsestr(stanza)
        if fields["Status"].endswith(" installed"):
            qualifiers = {"arch": fields["Architecture"], "distro": "bookworm"}
            yield _debian(fields["Package"], fields["Version"], qualifiers), []
    for header in root.glob("usr/local/include/python3*/patchlevel.h"):  # the official image's own Python
        (version,) = re.findall(r'define PY_VERSION\s+"(.+)"', header.read_text(encoding="utf-8"))
        purl = PackageURL("generic", None, "python", version)
        yield Component(name="python", version=version, purl=purl, bom_ref=str(purl)), []
    # Below usr/lib/python3 are packages of Debian, which have been counted.
    folders = [*root.glob("opt/*/lib/python3*/site-packages"), *root.glob("usr/local/lib/python3*/*-packages")]
    for metadata in Distribution.discover(path=[str(folder) for folder in folders]):
        yield _python(metadata.name, metadata.version, metadata)


def _python(name: str, version: str, metadata: Distribution | None) -> tuple[Component, list[str]]:
    name = canonicalize_name(name)
    purl = PackageURL("pypi", None, name, version)
    stated = licence(metadata) if metadata else ""
    licences = [LicenseFactory().make_from_string(stated)] if stated else []
    needs = [Requirement(line) for line in (metadata.requires if metadata else None) or []]
    wanted = [one for one in needs if one.marker is None or one.marker.evaluate({**IMAGE, "extra": ""})]
    component = Component(name=name, version=version, purl=purl, bom_ref=str(purl), licenses=licences)
    return component, sorted({canonicalize_name(one.name) for one in wanted})


def _debian(name: str, version: str | None, qualifiers: dict[str, str]) -> Component:
    purl = PackageURL("deb", "debian", name, version, qualifiers)
    return Component(name=name, version=version, purl=purl, bom_ref=str(purl))


def _own_version() -> str:
    text = (ROOT / "kepler_train" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(version)


if __name__ == "__main__":
    main()
