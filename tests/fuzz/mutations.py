"""Changes of bytes: flips, cuts, insertions, repetitions, and words that readers trip over."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

# A secret that no sentence may repeat.
CANARY = "s3cr3t-c4n4ry"
WORDS = [
    *(b"null", b"true", b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-0", b"0", b"-1", b"1e308", b"5e-324"),
    *(b"9" * 30, b"9" * 400, b"9" * 5000, b"0x7f", b"1_0", b"[]", b"{}", b'""', b"[" * 3000, b'{"a":' * 3000),
    *(b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"\r\n", b"\x1b[31m", b"\x85"),
    *(b"../../escape", b"/etc/passwd", b"a" * 5000, b"%s%n", b"{0.__class__}", b"$(id)", b"<!--", b"-->", b"'"),
    *(b"0001-01-01T00:00:00Z", b"9999-12-31T23:59:59Z", b"inf", b"-1e400", "ａ１٣".encode()),
]
_LONGEST = 4_000_000  # bytes of a case


def mutate_bytes(content: bytes, random: Random, words: Sequence[bytes] = WORDS) -> bytes:
    """Return bytes with one to four changes."""
    changed = bytearray(content)
    for _ in range(min(1 + int(random.expovariate(1)), 4)):
        _change(changed, random, words)
    return bytes(changed[:_LONGEST])


def _change(content: bytearray, random: Random, words: Sequence[bytes]) -> None:
    size = len(content)
    at = random.randrange(size + 1)
    length = min(int(random.expovariate(1 / 16)) + 1, size - at)
    match random.randrange(9):
        case 0 if size:
            content[at % size] ^= 1 << random.randrange(8)
        case 1 if size:
            content[at % size] = random.choice((0, 1, 127, 128, 255, random.randrange(256)))
        case 2:
            del content[at : at + length]
        case 3:
            del content[at:]
        case 4:
            content[at:at] = random.randbytes(length)
        case 5:
            content[at:at] = content[at : at + length] * random.choice((1, 2, 100))
        case 6:
            content[at:at] = random.choice(words)
        case 7:
            word = random.choice(words)
            content[at : at + len(word)] = word
        case _ if size:
            other = random.randrange(size)
            content[at : at + length] = content[other : other + length]
