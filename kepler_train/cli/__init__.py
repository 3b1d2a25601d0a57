"""The command line: parse, call, print."""

from __future__ import annotations

import gc
import io
import sys
import traceback
from contextlib import redirect_stderr
from typing import TextIO

from kepler_train.addresses import without_secrets
from kepler_train.cli.app import app
from kepler_train.errors import KeplerTrainError, Skipped, room_for, usable_files
from kepler_train.events import fail, say
from kepler_train.scratch import sweep_temporary_folder


def main() -> None:
    """Run `kepler-train`; every foreseen failure is one sentence and its exit code."""
    gc.set_threshold(10_000)  # of the libraries' objects, which are looked through again and again, none is garbage
    with redirect_stderr(_WithoutSecrets(sys.stderr)):
        _run()


class _WithoutSecrets(io.TextIOBase):
    """Standard error for what others write there: the option parser repeats what was typed, tracebacks addresses."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(without_secrets(text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()


def _run() -> None:
    try:
        with usable_files(), room_for("what the command writes, also to the folder of temporary files (TMPDIR)"):
            sweep_temporary_folder()
            app()
    except Skipped as error:
        say(f"Skipped. {error}", exit_code=error.exit_code)
        sys.exit(error.exit_code)
    except KeplerTrainError as error:
        fail(str(error), exit_code=error.exit_code)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        fail("Interrupted.", exit_code=130)
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        fail("This is a bug in kepler-train: please report it with the lines above.", exit_code=1)
        sys.exit(1)
