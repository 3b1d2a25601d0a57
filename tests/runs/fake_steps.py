"""Steps whose results a person can check: words in files, and who read them."""

from __future__ import annotations

from pathlib import Path

from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs, Step

SPEC = RunSpec.model_validate({"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T02:00:00Z"})
OTHER_SPEC = SPEC.model_copy(update={"seed": 7})

WORD = ["old"]
CALLS: list[str] = []
# One file is only in the old result and one only in the new one; a.txt has the same size in both.
FILES = {"old": ["a.txt", "b/c.txt", "gone.txt"], "new": ["a.txt", "b/c.txt", "d/e/f.txt"], "two": ["a.txt"]}


def words(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    CALLS.append("words")
    word = WORD[0]
    for name in FILES[word]:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(f"{word} in {name}\n")
    return {"files": len(FILES[word]), "word": word}


def count(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    CALLS.append("count")
    word, names = read_words(inputs.folder("words"))
    assert names == sorted(FILES[word]), f"a mixed result was taken for one: {word}, {names}"
    (out / "count.txt").write_text(f"{len(names)} {word}\n")
    return {"files": len(names), "word": word}


def read_words(folder: Path) -> tuple[str, list[str]]:
    said = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.txt")}
    (word,) = {text.split()[0] for text in said.values()}
    assert all(text == f"{word} in {name}\n" for name, text in said.items())
    return word, sorted(said)


def last(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    CALLS.append("last")
    (out / "last.txt").write_text((inputs.folder("count") / "count.txt").read_text())
    return {}


def piece(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    CALLS.append(f"piece {inputs.part}")
    (out / "piece.txt").write_text(f"{inputs.part} of {(inputs.folder('words') / 'a.txt').read_text()}")
    return {}


def gather(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    CALLS.append("gather")
    (out / "all.txt").write_text("".join((f / "piece.txt").read_text() for f in inputs.parts("piece").values()))
    return {"parts": ",".join(inputs.parts("piece"))}


def read_all(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Reads what was gathered, and the parts themselves as folders of one."""
    CALLS.append("read_all")
    pieces = sorted(inputs.folder("piece").rglob("piece.txt"))
    (out / "read.txt").write_text((inputs.folder("gather") / "all.txt").read_text())
    return {"pieces": len(pieces)}


def full_disk(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    raise OSError(28, "No space left on device", str(out / "big.parquet"))


STEPS = {
    step.name: step
    for step in (
        Step("words", "fake_steps:words"),
        Step("count", "fake_steps:count", needs=("words",)),
        Step("last", "fake_steps:last", needs=("count",)),
        Step("piece", "fake_steps:piece", needs=("words",), parts=lambda _: ["x/1", "x/2", "y/1"]),
        Step("gather", "fake_steps:gather", gathers=("piece",)),
        Step("read_all", "fake_steps:read_all", needs=("gather",), gathers=("piece",)),
        Step("always", "fake_steps:words", always=True),
        Step("collect", "fake_steps:words", outside="collects"),
        Step("hand over", "fake_steps:words", outside="changes"),
        Step("full", "fake_steps:full_disk"),
    )
}
