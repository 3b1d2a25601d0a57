"""PostgreSQL as a real server, alone: what it holds survives being killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from connecting import connected

from kepler_train.errors import UserError
from kepler_train.local.postgres import PostgresServer
from kepler_train.local.process import running_in
from kepler_train.local.server_user import open_to_all

pytestmark = pytest.mark.integration


def test_what_was_committed_survives_kill_9_although_a_backend_is_busy(home: Path):
    with PostgresServer(home / "pg") as server:
        with connected(server) as cursor:
            cursor.execute("CREATE TABLE kept (value int); INSERT INTO kept VALUES (42)")
            assert server.child
            os.kill(server.child.pid, signal.SIGKILL)
            while server.child.exit_code is None:
                time.sleep(0.02)
        server.start()
        server.wait_ready()
        with connected(server) as cursor:
            cursor.execute("SELECT value FROM kept")
            assert cursor.fetchall() == [(42,)]
    assert running_in(server.data, Path(server.command()[0])) == []


def test_a_pid_file_that_names_a_living_stranger_does_not_stop_the_start(home: Path):
    server = PostgresServer(home / "pg")
    server.prepare()
    (server.data / "postmaster.pid").write_text(f"{os.getppid()}\n{server.data}\n1\n5432\n\n\n1 1\nready\n")
    with server:
        assert server.ready()


def test_it_listens_on_no_port_and_its_socket_is_private(home: Path):
    with PostgresServer(home / "pg") as server, connected(server) as cursor:
        cursor.execute("SHOW listen_addresses")
        assert cursor.fetchall() == [("",)]
        cursor.execute("SHOW fsync")
        assert cursor.fetchall() == [("on",)]
        assert Path(server.address).stat().st_mode & 0o077 == 0


def test_a_long_path_gets_a_socket_that_fits(home: Path):
    deep = home / ("a" * 60) / ("b" * 60)
    deep.mkdir(parents=True)
    open_to_all(home)
    with PostgresServer(deep / "pg") as server, connected(server) as cursor:
        cursor.execute("SELECT 1")
        assert len(server.address) < 90
    assert not Path(server.address).exists()


def test_two_servers_on_one_folder_are_refused(home: Path):
    server = PostgresServer(home / "pg")
    with pytest.raises(UserError, match="Another process runs PostgreSQL"):
        PostgresServer(home / "pg")
    server.close()
    PostgresServer(home / "pg").close()
