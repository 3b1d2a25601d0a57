"""Changes of CSV, TOML and Markdown: of their lines and cells, or of their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from fuzz.mutations import CANARY, mutate_bytes

_CELLS = [
    *(
        "",
        " ",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1e308",
        "1e999",
        "-1",
        "0",
        "1" * 400,
        "0x10",
        "1_000",
        "1,5",
        '"',
        '""',
        "'",
    ),
    *(
        "a\0b",
        "é\u202e",
        "\x1b[2J",
        "t" * 5000,
        "t" * 200_000,
        "true",
        "2026-11-14",
        "0001-01-01T00:00:00Z",
        "NaT",
        "-9e18",
    ),
    *(
        "1794614400000",
        "9999999999999999999",
        "-62135596801",
        "timestamp",
        "node",
        "id",
        "package_power",
        "=1+1",
        "<b>|",
    ),
    *("../../escape", "[x]", "[[x]]", "x = 1", "x.y.z = {}", "= ", '"""', "{", "}", f"http://u:{CANARY}@h", "-->", "|"),
]


def mutate_lines(content: bytes, random: Random, separator: str = ",", words: Sequence[str] = ()) -> bytes:
    """Return a text with changed cells, lines or bytes; `words` are of its kind."""
    if random.random() < 0.2:
        return mutate_bytes(content, random)
    lines = content.decode(errors="replace").split("\n")
    for _ in range(min(1 + int(random.expovariate(1)), 4)):
        _change(lines, random, separator, [*_CELLS, *words])
    return "\n".join(lines).encode()


def _change(lines: list[str], random: Random, separator: str, words: Sequence[str]) -> None:
    if not lines:
        return
    at = random.randrange(len(lines)) if random.random() < 0.7 else 0
    cells = lines[at].split(separator)
    place = random.randrange(len(cells))
    match random.randrange(11):
        case 0:
            del lines[at]
        case 1:
            lines[at:at] = [lines[at]] * random.choice((1, 2, 100))
        case 2:
            lines[at], lines[-1] = lines[-1], lines[at]
        case 3:
            del lines[at:]
        case 4:
            del cells[place]
            lines[at] = separator.join(cells)
        case 5:
            lines[at] = separator.join([*cells, random.choice(words)])
        case 6:  # a whole column
            other = random.choice(words)
            for number in range(1, len(lines)):
                row = lines[number].split(separator)
                if place < len(row):
                    row[place] = other
                    lines[number] = separator.join(row)
        case 7:
            cells[place] = random.choice(cells)
            lines[at] = separator.join(cells)
        case _:
            cells[place] = random.choice(words)
            lines[at] = separator.join(cells)
