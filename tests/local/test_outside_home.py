"""Root's stack below a folder that PostgreSQL's own user cannot enter: what is put outside, and who removes it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from connecting import connected

from kepler_train.local import postgres
from kepler_train.local.outside_home import kept_for, place_for, programs_for, remove, sweep
from kepler_train.local.postgres import PostgresServer, site_packages
from kepler_train.local.server_user import can_enter, open_to_all

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user")]

STRANGER = (65534, 65534)


@pytest.fixture
def outside_root(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("kepler_train.local.outside_home._ROOT", home / "var")
    return home / "var"


def test_a_home_that_the_servers_user_cannot_reach_stays_closed(home: Path, outside_root: Path):
    closed = home / "root"
    closed.mkdir(mode=0o700)
    place = place_for(closed / "postgres", STRANGER)
    assert place.parent == outside_root
    assert place.stat().st_uid == STRANGER[0]
    assert place_for(closed / "postgres", STRANGER) == place
    assert not can_enter(closed, STRANGER)


def test_a_database_of_a_home_that_was_open_goes_on_when_the_home_is_closed(home: Path, outside_root: Path):
    (home / "stack").mkdir()
    (home / "stack").chmod(0o755)  # whatever the umask
    with PostgresServer(home / "stack" / "pg") as server, connected(server) as cursor:
        cursor.execute("CREATE TABLE kept (value int); INSERT INTO kept VALUES (42)")
        assert server.data.is_relative_to(home / "stack")
    (home / "stack").chmod(0o700)
    for _ in range(2):
        with PostgresServer(home / "stack" / "pg") as server, connected(server) as cursor:
            cursor.execute("SELECT value FROM kept")
            assert cursor.fetchall() == [(42,)]
            assert server.data.is_relative_to(outside_root)
    assert not (home / "stack" / "pg" / "data").exists()


def test_who_keeps_what_outside_is_for_root_alone_to_read(home: Path, outside_root: Path):
    (home / "root").mkdir(mode=0o700)
    place = place_for(home / "root" / "postgres", STRANGER)
    notes = [path for path in outside_root.iterdir() if path.is_file()]
    assert len(notes) == 2
    assert [path.stat().st_mode & 0o777 for path in (outside_root, place, *notes)] == [0o711, 0o700, 0o600, 0o600]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_root_below_a_closed_folder_gets_a_server_whatever_the_umask(
    home: Path, outside_root: Path, monkeypatch: pytest.MonkeyPatch, umask: int
):
    before = os.umask(umask)
    try:
        site = home / "root" / "site-packages"
        installed = site_packages()
        assert installed
        for part in postgres._PARTS:
            shutil.copytree(installed / part, site / part, symlinks=True)
        (home / "root").chmod(0o700)
        monkeypatch.setattr(postgres, "site_packages", lambda: site)
        with PostgresServer(home / "root" / "pg") as server, connected(server) as cursor:
            cursor.execute("SELECT 6 * 7")
            assert cursor.fetchall() == [(42,)]
            assert server.command()[0].startswith(str(outside_root / "programs-"))
            assert remove(kept_for(home / "root" / "pg", site)) == [], "both are in use"
        kept = kept_for(home / "root" / "pg", site)
        assert [entry.name.split("-")[0] for entry in kept] == ["postgres", "programs"]
        assert remove(kept) == kept
        assert [path.name for path in outside_root.iterdir()] == ["lock"]
    finally:
        os.umask(before)


def test_programs_whose_files_are_closed_are_copied_although_their_folder_is_open(home: Path, outside_root: Path):
    site = home / "site"
    (site / "bin").mkdir(parents=True)
    (site / "bin" / "initdb").touch(mode=0o755)
    open_to_all(site)
    assert programs_for(site, ["bin"], STRANGER) == site
    (site / "bin" / "initdb").chmod(0o700)
    copy = programs_for(site, ["bin"], STRANGER)
    assert copy.parent == outside_root
    assert (copy / "bin" / "initdb").stat().st_mode & 0o777 == 0o755


def test_the_next_start_sweeps_what_belongs_to_clones_that_are_gone_and_nothing_else(home: Path, outside_root: Path):
    def clone(name: str) -> list[Path]:
        (home / name).mkdir(mode=0o700)
        (home / name / "bin").mkdir()
        return [
            place_for(home / name / "postgres", STRANGER),
            programs_for(home / name, ["bin"], STRANGER),
        ]

    kept, gone, elsewhere = clone("kept"), clone("gone"), clone("unmounted")
    for entry in elsewhere:  # as if its disk had been another one, which is not mounted now
        note = entry.with_name(f"{entry.name}.json")
        note.write_text(json.dumps({**json.loads(note.read_text()), "device": -1}))
    for name in ("gone", "unmounted"):
        shutil.rmtree(home / name)
    (outside_root / "programs-half.draft").mkdir()
    (outside_root / "postgres-without-a-note").mkdir()
    assert sorted(sweep()) == sorted([*gone, outside_root / "programs-half.draft"])
    assert all(entry.exists() for entry in [*kept, *elsewhere, outside_root / "postgres-without-a-note"])
    assert sweep() == []


def test_a_renewed_environment_gets_a_new_copy_and_the_old_one_is_swept(home: Path, outside_root: Path):
    (home / "venv").mkdir(mode=0o700)
    (home / "venv" / "bin").mkdir()
    first = programs_for(home / "venv", ["bin"], STRANGER)
    assert programs_for(home / "venv", ["bin"], STRANGER) == first
    shutil.rmtree(home / "venv" / "bin")
    (home / "venv" / "bin").mkdir()
    second = programs_for(home / "venv", ["bin"], STRANGER)
    assert second != first
    assert sweep() == [first]


def test_a_pointer_that_names_a_folder_of_somebody_else_is_not_believed(home: Path, outside_root: Path):
    (home / "postgres").mkdir()
    (home / "theirs").mkdir()
    (home / "postgres" / "elsewhere").write_text(str(home / "theirs"))
    assert kept_for(home / "postgres", None) == []


def test_without_anything_to_remove_nothing_is_made_outside(outside_root: Path):
    assert remove([]) == []
    assert not outside_root.exists()
