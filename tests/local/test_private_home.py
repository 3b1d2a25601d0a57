"""Whose a home must be, and who else can see it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from somebody_else import NOBODY, needs_root

from kepler_train.errors import UserError
from kepler_train.local.private_home import STATE, make_private, refuse_foreign
from kepler_train.local.stack import find


def modes(home: Path) -> dict[str, str]:
    return {str(path.relative_to(home)): oct(path.lstat().st_mode & 0o777) for path in (home, *home.rglob("*"))}


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077, 0o000])
def test_a_new_home_is_its_owners_alone_whatever_the_umask(tmp_path: Path, umask: int):
    before = os.umask(umask)
    try:
        assert make_private(tmp_path / "above" / "home") is False
    finally:
        os.umask(before)
    assert modes(tmp_path / "above" / "home") == {".": "0o700"}


def test_a_home_that_was_open_is_closed_once_with_all_that_a_stack_wrote_there(tmp_path: Path):
    home = tmp_path / "home"
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "outside").symlink_to(tmp_path / "theirs")
    for path in (home / STATE, home / "logs" / "a.log", home / "notes of its owner", tmp_path / "theirs"):
        path.touch()
        path.chmod(0o644)
    (home / "logs" / "tool").touch()
    for path in (home, home / "logs", home / "logs" / "tool"):
        path.chmod(0o775)
    assert make_private(home) is True
    link = oct((home / "logs" / "outside").lstat().st_mode & 0o777)
    assert modes(home) == {
        ".": "0o700",
        STATE: "0o600",
        "logs": "0o700",
        "logs/a.log": "0o600",
        "logs/tool": "0o700",
        "logs/outside": link,
        "notes of its owner": "0o644",  # nobody else can reach it, and it is not ours to change
    }
    assert (tmp_path / "theirs").stat().st_mode & 0o777 == 0o644
    assert make_private(home) is False


def test_a_folder_of_other_things_is_not_closed_but_refused(tmp_path: Path):
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match=r"holds files that are not a stack's.*chmod 700"):
        make_private(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    tmp_path.chmod(0o700)
    assert make_private(tmp_path) is False


@needs_root
@pytest.mark.parametrize("use", [make_private, find])
def test_a_home_of_another_user_is_refused(tmp_path: Path, use):
    os.chown(tmp_path, NOBODY, NOBODY)
    with pytest.raises(UserError, match=f"The home {tmp_path} is a folder that belongs to the user nobody: choose"):
        use(tmp_path)


@needs_root
def test_a_link_to_or_of_another_user_is_refused(tmp_path: Path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    os.chown(tmp_path / "theirs", NOBODY, NOBODY)
    (tmp_path / "ours-to-theirs").symlink_to("theirs")
    (tmp_path / "theirs-to-ours").symlink_to("ours")
    os.chown(tmp_path / "theirs-to-ours", NOBODY, NOBODY, follow_symlinks=False)
    (tmp_path / "ours-to-ours").symlink_to("ours")
    for link in ("ours-to-theirs", "theirs-to-ours"):
        with pytest.raises(UserError, match=r"is a link to .* belongs to the user nobody"):
            refuse_foreign(tmp_path / link)
    refuse_foreign(tmp_path / "ours-to-ours")


def test_a_link_to_nowhere_is_one_sentence(tmp_path: Path):
    (tmp_path / "home").symlink_to("gone")
    with pytest.raises(UserError, match="cannot be used"):
        refuse_foreign(tmp_path / "home")
