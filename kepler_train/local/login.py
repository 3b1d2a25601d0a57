"""The login of the embedded Airflow: one administrator, whose password is made once and kept in the home."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.events import LogFormat, used_format
from kepler_train.local.files import write_private

_BYTES = 15  # 120 bits, 20 characters


class Login:
    """User and password of the Airflow in a home."""

    user = "admin"

    def __init__(self, home: Path) -> None:
        self.file = home / "airflow" / "passwords.json"
        """In the form of Airflow's SimpleAuthManager, which would make a missing password itself, and log it."""

    def make(self) -> bool:
        """Make a password unless there is one; return whether it was made."""
        if self._stored():
            self.file.chmod(0o600)
            return False
        write_private(self.file, json.dumps({self.user: secrets.token_urlsafe(_BYTES)}) + "\n")
        return True

    @property
    def password(self) -> str:
        """Return the password."""
        if not (password := self._stored()):
            raise UserError(f"There is no password in {self.file}: `kepler-train local down`, then `up`, makes one.")
        return password

    def line(self) -> str:
        """Return how to log in, in one line; the password itself only where a person reads it, never for a log."""
        if sys.stdout.isatty() and used_format() is LogFormat.HUMAN:
            return f"Login: user {self.user}, password {self.password}"
        return f"Login: user {self.user}, password in {self.file}"

    def _stored(self) -> str:
        try:
            password = json.loads(self.file.read_text())[self.user]
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        return password if isinstance(password, str) else ""
