"""The lock files: every package by hash, from whatever index this machine uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from locks import IMAGE, locked

ROOT = Path(__file__).resolve().parents[2]
LOCKS = [*sorted((ROOT / "requirements").glob("*.txt")), ROOT / "docker" / "step" / "build.txt"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda file: file.name)
def test_a_lock_names_packages_with_hashes_and_no_index_or_host(lock: Path):
    lines = [line for line in lock.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pinned = re.compile(r"[a-z0-9-]+==[\w.]+( ; [\w. '<>=!()*]+)? \\")
    odd = [
        line
        for line in lines
        if not pinned.fullmatch(line) and not re.fullmatch(r"    --hash=sha256:\w{64}( \\)?", line)
    ]
    assert odd == []  # no --index-url, no --find-links, no package by its address
    starts = [number for number, line in enumerate(lines) if pinned.fullmatch(line)]
    assert len(starts) > 5
    assert all("--hash=" in lines[number + 1] for number in starts)


def test_what_is_locked_for_the_image_is_what_its_python_would_install(tmp_path: Path):
    lock = tmp_path / "step.txt"
    lock.write_text(
        "# a comment\n"
        "colorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n"
        "numpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:00\n"
        "numpy==2.5.4 ; python_full_version >= '3.12' \\\n    --hash=sha256:00\n"
        "rich==15.0.0 \\\n    --hash=sha256:00\n"
    )
    assert locked(lock) == {"numpy": "2.4.6", "rich": "15.0.0"}
    assert locked(lock, IMAGE | {"python_full_version": "3.13.1"})["numpy"] == "2.5.4"


def test_the_image_is_built_from_one_base_whose_python_the_locks_are_read_for():
    text = (ROOT / "docker" / "step" / "Dockerfile").read_text(encoding="utf-8")
    (base,) = re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}", "dependencies"}
    assert base.startswith(f"python:{IMAGE['python_version']}-")


def test_what_is_in_the_image_is_what_is_tested():
    tested = locked(ROOT / "requirements" / "all.txt")
    image = locked(ROOT / "requirements" / "step.txt")
    assert {name: tested[name] for name in image} == image
