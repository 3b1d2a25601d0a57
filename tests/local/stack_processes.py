"""The processes of a stack and the sockets on which they listen, from the kernel's tables."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kepler_train.local.process import STACK_MARK, marked, running_in
from kepler_train.local.state import StackState
from kepler_train.processes import pids

_LISTENING_TCP = "0A"
_LISTENING_UNIX = "00010000"


def processes(home: Path) -> list[int]:
    """Every process of a stack: by its mark, and PostgreSQL, which clears its environment, by its folder."""
    state = StackState.read(home)
    assert state
    programs = {program for program in map(_program, pids()) if program and program.name == "postgres"}
    servers = [pid for program in programs for pid in running_in(Path(state.postgres_data), program)]
    return marked({STACK_MARK: str(home)}) + servers


def listening_tcp(of: Iterable[int]) -> set[tuple[str, int]]:
    """Address and port of every TCP socket on which one of these processes listens."""
    inodes = _sockets(of)
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING_TCP and fields[9] in inodes:
                address, port = fields[1].split(":")
                host = socket.inet_ntoa(bytes.fromhex(address)[::-1]) if table == "tcp" else address
                found.add((host, int(port, 16)))
    return found


def listening_unix(of: Iterable[int]) -> set[str]:
    """Path of every unix socket on which one of these processes listens; abstract ones begin with @."""
    inodes = _sockets(of)
    lines = (line.split(maxsplit=7) for line in Path("/proc/net/unix").read_text().splitlines()[1:])
    return {fields[7] for fields in lines if len(fields) == 8 and fields[3] == _LISTENING_UNIX and fields[6] in inodes}


def _sockets(of: Iterable[int]) -> set[str]:
    inodes = set()
    for pid in of:
        # Airflow hides the files of some of its processes from everybody but root, and a process may end meanwhile.
        with suppress(OSError):
            for fd in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    inodes.add(str(fd.readlink()).removeprefix("socket:[")[:-1])
    return inodes


def _program(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/exe").readlink()
    except OSError:  # it has ended, or is another user's
        return None
