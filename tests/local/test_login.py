"""The password of the embedded Airflow: made once, kept, shown to people only, and not to be switched off."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from kepler_train.errors import UserError
from kepler_train.events import LogFormat, use_format
from kepler_train.local.airflow import AirflowSetup, allowed_hosts
from kepler_train.local.login import Login
from kepler_train.local.ports import take_port
from kepler_train.local.stack_services import checked
from kepler_train.local.state import Settings


@pytest.fixture
def login(tmp_path: Path) -> Login:
    (tmp_path / "airflow").mkdir()
    return Login(tmp_path)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_password_is_made_once_in_a_file_that_only_its_owner_can_read(login: Login):
    before = os.umask(0)
    try:
        assert login.make() is True
    finally:
        os.umask(before)
    assert login.file.stat().st_mode & 0o777 == 0o600
    first = login.password
    assert len(first) == 20
    assert login.make() is False
    assert login.password == first


def test_two_homes_have_two_passwords(tmp_path: Path):
    logins = [Login(tmp_path / name) for name in ("one", "two")]
    for login in logins:
        login.file.parent.mkdir(parents=True)
        login.make()
    assert logins[0].password != logins[1].password


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"admin": ""}', '{"admin": 7}', "no json"])
def test_a_file_without_a_password_gets_one(login: Login, content: str):
    login.file.write_text(content)
    with pytest.raises(UserError, match="There is no password in"):
        assert login.password
    assert login.make() is True
    assert login.password


def test_the_password_is_shown_on_a_terminal_and_nowhere_else(login: Login, monkeypatch: pytest.MonkeyPatch):
    login.make()
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert login.line() == f"Login: user admin, password {login.password}"
    use_format(LogFormat.JSON)
    try:
        assert login.line() == f"Login: user admin, password in {login.file}"
    finally:
        use_format(LogFormat.HUMAN)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert login.line() == f"Login: user admin, password in {login.file}"


def test_settings_of_the_caller_do_not_switch_the_login_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wishes = {
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "me:ADMIN,you:ADMIN",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": "/tmp/everybody.json",  # noqa: S108
        "AIRFLOW__API__ACCESS_CONTROL_ALLOW_ORIGINS": "http://evil.example",
        "KEPLER_TRAIN_ALLOWED_HOSTS": "evil.example",
    }
    for name, value in wishes.items():
        monkeypatch.setenv(name, value)
    with take_port("127.0.0.1") as port:
        setup = AirflowSetup(tmp_path, "postgresql://", port, tmp_path, tmp_path, {})
        environment = setup.environment()
        number = port.number
    assert {name: environment[name] for name in wishes} == {
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:ADMIN",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(Login(tmp_path).file),
        "AIRFLOW__API__ACCESS_CONTROL_ALLOW_ORIGINS": "",
        "KEPLER_TRAIN_ALLOWED_HOSTS": f"127.0.0.1:{number},[::1]:{number},localhost:{number}",
    }
    assert list(json.loads(Login(tmp_path).file.read_text())) == ["admin"]


def test_a_stack_that_listens_everywhere_answers_to_the_names_of_this_machine_too():
    with take_port("0.0.0.0") as port:  # noqa: S104
        assert f"{os.uname().nodename.lower()}:{port.number}" in allowed_hosts(port)


def test_plugins_without_the_guard_are_refused_before_anything_is_started(tmp_path: Path):
    with pytest.raises(UserError, match=r"has no kepler_train_plugin\.py, without which"):
        checked(Settings(plugins=str(tmp_path), dags=str(tmp_path)))
