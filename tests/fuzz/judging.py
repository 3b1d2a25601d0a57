"""Give one case to what reads it, and judge how that ends."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import traceback
from pathlib import Path

from fuzz.case import Case, Kind
from fuzz.guard import Guard
from fuzz.mutations import CANARY
from fuzz.outcome import ACCEPTED, MEMORY, OUTSIDE, REFUSED, SENTENCE, TRACEBACK, Outcome
from fuzz.place import Place
from kepler_train.errors import KeplerTrainError
from kepler_train.events import fail

MOST_MEMORY = 1 << 30  # bytes, of the whole process
_LONGEST = 2_000  # characters of a sentence
_CODES = (2, 3, 75)
# What libraries say where the limit of the address space refuses them memory, which a sentence may hide.
_NO_MEMORY = re.compile(r"bad_alloc|bad allocation|[Uu]nable to allocate|MemoryError|out of memory|(malloc|realloc) of")
_KEPT = 20_000  # characters of what is known of a failure


def judge(kind: Kind, number: int, case: Case, seeds: Path, place: Place, guard: Guard) -> Outcome:
    """Return what comes of a case, which may write to its own folder and to that of temporary files."""
    work, output = place.work, place.output
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    os.chdir(work)
    os.truncate(output, 0)
    _forget_peak()
    guard.watch(work, place.temporary)
    began = time.perf_counter()
    try:
        kind.call(case, seeds, work)
        result, detail = ACCEPTED, ""
    except KeplerTrainError as error:
        fail(str(error))  # as a command does
        result, detail = _judge_sentence(str(error), _printed(output).splitlines()[-1])
    except SystemExit as ended:
        result, detail = _judge_exit(ended, output)
    except MemoryError:
        result, detail = MEMORY, traceback.format_exc()
    except Exception:
        result, detail = TRACEBACK, traceback.format_exc()
    finally:
        deeds = guard.stop()
    seconds, peak = time.perf_counter() - began, _peak()
    printed = _printed(output)
    if result in (ACCEPTED, REFUSED):
        if "Traceback (most recent call last)" in printed:
            result, detail = TRACEBACK, printed
        elif CANARY in printed:
            result, detail = SENTENCE, f"the secret is printed: {_around(printed, CANARY)}"
        elif deeds or (deeds := _strays(place, guard)):
            result, detail = OUTSIDE, "; ".join(deeds)
        elif _NO_MEMORY.search(detail):
            result = MEMORY
        elif peak > MOST_MEMORY:
            result, detail = MEMORY, f"{peak >> 20} MiB were in use"
    return Outcome(number, result, detail[-_KEPT:], seconds, peak >> 20)


def _judge_sentence(sentence: str, line: str) -> tuple[str, str]:
    """Return whether an error is one sentence that can be shown to anybody, with the line that it is printed as."""
    problems = {
        "is empty": not sentence.strip(),
        "has several lines": len(sentence.splitlines()) > 1,
        f"has {len(sentence)} characters": len(sentence) > _LONGEST,
        "is a traceback": "Traceback" in sentence,
        "is no Unicode text": any("\ud800" <= letter <= "\udfff" for letter in sentence),
        "has control characters": any(letter < " " or "\x7f" <= letter < "\xa0" for letter in sentence),
        "has the secret": CANARY in line,
    }
    wrong = [problem for problem, there in problems.items() if there]
    if not wrong:
        return REFUSED, sentence
    frames = traceback.extract_tb(sys.exc_info()[2])
    own = next((frame for frame in reversed(frames) if "/kepler_train/" in frame.filename), frames[-1])
    place = f"{Path(own.filename).parent.name}/{Path(own.filename).name}:{own.lineno} {own.name}"
    return SENTENCE, f"{sentence[:300]!r}\nthe sentence {', '.join(wrong)} [{place}]"


def _judge_exit(ended: SystemExit, output: Path) -> tuple[str, str]:
    """Return the result of a command by its exit code and its last line."""
    if not ended.code:
        return ACCEPTED, ""
    lines = _printed(output).splitlines() or [""]
    if ended.code in _CODES:
        return _judge_sentence(lines[-1], lines[-1])
    return TRACEBACK, _printed(output) or f"the exit code is {ended.code!r}"


def _printed(output: Path) -> str:
    sys.stdout.flush()
    sys.stderr.flush()
    return output.read_bytes().decode(errors="replace")


def _strays(place: Place, guard: Guard) -> list[str]:
    """Return what lies beside the folder of the case, and temporary files that are left unless of another process."""
    expected = {place.work, place.box, place.temporary, place.output, place.results}
    beside = [path for path in (*place.box.iterdir(), *place.folder.iterdir()) if path not in expected]
    left = [] if guard.allows("programs") else list(place.temporary.iterdir())
    for path in (*beside, *left):  # so that the next case is not blamed
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return [f"{path} was written" for path in beside] + [f"{path} was left" for path in left]


def _around(text: str, word: str) -> str:
    return repr(text[max(text.index(word) - 100, 0) :][:200])


def _forget_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123 - a case may break pathlib's view of the folder
        file.write("5")


def _peak() -> int:
    """Return the largest resident memory of this process since `_forget_peak` (bytes)."""
    with open("/proc/self/status") as file:  # noqa: PTH123
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
