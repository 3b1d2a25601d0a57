"""Cases that end as they must not, each in the way that its bytes name: what the harness is tested by."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
from decimal import Decimal
from pathlib import Path
from random import Random

from fuzz.case import Case
from fuzz.mutations import CANARY
from kepler_train.errors import DataError, UserError
from kepler_train.events import say

WAYS = [
    *("accepted", "refused", "crash", "hang", "sleep", "over 1 GB", "traceback", "printed traceback", "exit"),
    *("secret", "printed secret", "outside", "beside", "left", "program", "pickle", "address"),
]


def seeds(folder: Path) -> list[Case]:
    """Return a case that is fine."""
    return [Case("way", b"accepted")]


def mutate(case: Case, random: Random) -> Case:
    """Return a way."""
    return Case(case.form, random.choice(WAYS).encode())


def call(case: Case, seeds: Path, work: Path) -> None:
    """End in the way that is named."""
    match case.content.decode():
        case "refused":
            raise DataError("The data cannot serve.")
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            while True:
                pass
        case "sleep":
            signal.pause()
        case "over 1 GB":
            bytearray(1 << 30)
        case "traceback":
            raise KeyError("a bug")
        case "printed traceback":
            print("Traceback (most recent call last):\nKeyError: 'a bug'")
        case "exit":
            raise SystemExit(1)
        case "secret":
            raise UserError(f"{CANARY} is wrong.")
        case "printed secret":
            say(f"It is {CANARY}.")
        case "outside":
            Path(seeds / "escaped").write_text("out")
        case "beside":
            os.mkdir("../beside")  # noqa: PTH102
        case "left":
            Path(os.environ["TMPDIR"], "left").write_text("left")
        case "program":
            subprocess.run(["true"], check=True)
        case "pickle":
            pickle.loads(pickle.dumps(Decimal))  # noqa: S301 - our own
        case "address":
            with socket.socket() as called:
                called.settimeout(0.01)
                called.connect_ex(("127.0.0.1", 9))
