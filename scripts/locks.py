"""Read the locked requirements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import Requirement

# Where the image of the steps runs: what its base image is.
IMAGE = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "python_full_version": "3.11.0",
    "python_version": "3.11",
    "sys_platform": "linux",
}


def locked(file: Path, environment: Mapping[str, str] = IMAGE) -> dict[str, str]:
    """Return the versions of the packages that a lock file has for an environment, by name."""
    lines = re.findall(r"^[A-Za-z0-9].*$", file.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = [Requirement(line.removesuffix("\\")) for line in lines]
    return {
        one.name: next(iter(one.specifier)).version
        for one in wanted
        if one.marker is None or one.marker.evaluate({**environment, "extra": ""})
    }
