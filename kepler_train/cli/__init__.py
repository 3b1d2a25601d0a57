"""The command line: parse, call, print."""

from __future__ import annotations

import gc
import sys
import traceback

from kepler_train.cli.app import app
from kepler_train.errors import KeplerTrainError, room_for
from kepler_train.events import fail


def main() -> None:
    """Run `kepler-train`; every foreseen failure is one sentence and its exit code."""
    gc.set_threshold(10_000)  # of the libraries' objects, which are looked through again and again, none is garbage
    try:
        with room_for("what the command writes, also to the folder of temporary files (TMPDIR)"):
            app()
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
