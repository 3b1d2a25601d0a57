"""The machines of the matrix, and what is particular about each."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from machine import USER

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_ASK_VERSION = "import sys; print(*sys.version_info[:3], sep='.'); print(sys.executable)"
_ADD_USER = f'useradd --create-home --base-dir "$PWD" --shell /bin/bash {USER}'
_NO_VENV = """
rm -f $(type -aP uv)
version=$(python3 -c 'import sys; print("{}.{}".format(*sys.version_info))')
dpkg --remove --force-depends python3-venv "python$version-venv"
if python3 -c 'import ensurepip' 2>/dev/null; then echo "python3 still has ensurepip"; exit 1; fi
"""
_DISABLE_IPV6 = "switch=/proc/sys/net/ipv6/conf/all/disable_ipv6; [ ! -e $switch ] || echo 1 >$switch"
_TAKE_8080 = "python3 -m http.server 8080 --bind 127.0.0.1 >/dev/null 2>&1 &"
_INSTALL = "make setup && scripts/debian-packages prometheus 'its simulation is used'"
_REFUSED = """
if said=$(make demo 2>&1); then echo "$said"; exit 1; fi
echo "$said"
grep -qE '`.*apt-get install python3[.][0-9]+-venv.*`' <<<"$said"
"""


@dataclass(frozen=True)
class Case:
    """One kind of fresh machine; {} in its environment stands for the folder of the case."""

    name: str
    what: str
    root: bool = False
    """Whether only root can make this machine."""
    change: str = ""
    """Shell script that root does to the private machine, in the folder of the case."""
    clone: str = "clone"
    closed: bool = False
    """Whether the folder above the clone is closed to other users."""
    umask: int = 0o022
    as_user: bool = False
    network: str = ""
    """Shell script that root does to a private network for demo and tests; it has nothing but loopback."""
    environment: dict[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    before: str = ""
    """What must be done before the private network."""
    demo: str = "make demo"
    tests: str = "env -u PYTHONPATH .venv/bin/pytest -n 2 --dist loadfile tests/local"
    """As `make test` does, but not all of them."""
    missing: str = ""
    """What this machine lacks for the case."""

    def obstacle(self) -> str:
        """Return why it cannot be had here, or nothing."""
        if self.root and os.geteuid() != 0:
            return "needs root"
        if self.network and not shutil.which("ip", path=SYSTEM_PATH):
            return "needs ip (Debian's iproute2)"
        if "dpkg" in self.change and not shutil.which("apt-get"):
            return "needs Debian's packages"
        return self.missing


def all_cases() -> list[Case]:
    """Return all cases; those for other Pythons depend on what this machine has."""
    return [
        Case("closed", "root below a folder that is closed to others", root=True, clone="closed/clone", closed=True),
        Case("umask", "root with umask 077", root=True, umask=0o077),
        Case(
            "user",
            "a normal user without sudo and Prometheus",
            root=True,
            as_user=True,
            change=f"{_ADD_USER}\nrm -f $(type -aP sudo prometheus)",
        ),
        Case("path", "a path with spaces and umlauts", clone="Zähler für alle/mein Klon"),
        Case("port", "port 8080 is taken", root=True, network=_TAKE_8080, before=_INSTALL),
        _foreign(),
        *_pythons(),
        Case("venv", "root, and Python without python3-venv: it is installed", root=True, change=_NO_VENV),
        Case(
            "venv-user",
            "a user, and Python without python3-venv: the command is said",
            root=True,
            as_user=True,
            change=f"{_ADD_USER}\n{_NO_VENV}",
            demo=_REFUSED,
            tests="",
        ),
        Case(
            "bare",
            "no useradd, no curl, no IPv6",
            root=True,
            change="rm -f $(type -aP useradd curl)",
            network=_DISABLE_IPV6,
            before=_INSTALL,
        ),
    ]


def _other_pythons() -> dict[str, str]:
    """Return every Python from 3.11 on that is on PATH or pyenv's, by version; not the system's, which others use."""
    system = shutil.which("python3", path=SYSTEM_PATH)
    known = {_about(Path(system))} if system else set()
    found: dict[str, str] = {}
    for candidate in _candidates():
        if (about := _about(candidate)) and about not in known:
            known.add(about)
            found.setdefault(*about)
    return dict(sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")]))


def _pythons() -> list[Case]:
    """Return a case per Python."""
    return [
        Case(f"python-{version}", f"Python {version} instead of the system's", environment={"PYTHON": executable})
        for version, executable in _other_pythons().items()
    ] or [Case("python", "another Python than the system's", missing="there is none from 3.11 on")]


def _candidates() -> Iterator[Path]:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for folder in [*pyenv.glob("versions/*/bin"), *map(Path, os.get_exec_path())]:
        yield from sorted(folder.glob("python3.[1-9][0-9]"))


def _about(python: Path) -> tuple[str, str] | None:
    """Return version and real path of an interpreter; None when it is too old, or does not run."""
    done = subprocess.run([python, "-I", "-c", _ASK_VERSION], capture_output=True, text=True)
    if done.returncode:
        return None
    version, executable = done.stdout.splitlines()
    recent = [int(part) for part in version.split(".")] >= [3, 11]
    return (version, str(Path(executable).resolve())) if recent else None


def _foreign() -> Case:
    """Return the case whose environment is somebody else's: variables of another Airflow, modules, no home."""
    return Case(
        "foreign",
        "foreign AIRFLOW_*, hostile PYTHONPATH, no HOME",
        files={
            "foreign/json.py": 'raise SystemExit("a foreign json.py was imported")\n',
            "foreign/airflow.py": 'raise SystemExit("a foreign airflow.py was imported")\n',
            "foreign/airflow.cfg": "[core]\nexecutor = CeleryExecutor\nload_examples = True\n",
        },
        environment={
            "PYTHONPATH": "{}/foreign",
            "AIRFLOW_HOME": "{}/foreign",
            "AIRFLOW_CONFIG": "{}/foreign/airflow.cfg",
            "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
            "AIRFLOW__CORE__DAGS_FOLDER": "/nonexistent/dags",
            "AIRFLOW__CORE__FERNET_KEY": "foreign",
            "AIRFLOW__CORE__AUTH_MANAGER": "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": "http://127.0.0.1:9/execution/",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql+psycopg2://foreign@127.0.0.1:9/airflow",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": "postgresql+asyncpg://foreign@127.0.0.1:9/airflow",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD": "false",
            "AIRFLOW__API__BASE_URL": "http://127.0.0.1:9/airflow",
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": "/nonexistent/logs",
            "AIRFLOW__LOGGING__REMOTE_LOGGING": "True",
            "AIRFLOW__SECRETS__BACKEND": "airflow.providers.foreign.Backend",
        },
        unset=("HOME",),
    )
