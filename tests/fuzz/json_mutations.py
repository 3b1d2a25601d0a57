"""Changes of JSON that stay JSON, or almost: other values, types, sizes, keys and depths."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from fuzz.mutations import CANARY, mutate_bytes

_BYTES = 0.12  # share of cases that are changed byte by byte
# Text that stands in the result as it is: numbers and objects that json.dumps would never write.
_RAW = [
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "-0", "-0.0", "1e-999", "0.1e1", "01", "1.", "+1", "0x10"),
    *("9" * 400, "-" + "9" * 400, "9" * 5000, "1" + "0" * 308, "9223372036854775808", "18446744073709551616"),
    *('"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"a\\u0000b"', '"\\u001b[2J"', '"\\u2028\\r\\n"'),
    *('{"a": 1, "a": 2}', '{"": null}', "[[]]", "[{}]", "tru", "'a'", "/* */ 1", "1 2"),
    *("[" * 500 + "]" * 500, "[" * 100_000 + "]" * 100_000, "[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000),
]
_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        0.0,
        0.5,
        -0.5,
        1e-9,
        1e9,
        1e18,
        1e300,
        -1e300,
        5e-324,
        1.7976931348623157e308,
    ),
    *(
        2**31,
        2**31 - 1,
        -(2**31),
        2**32,
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        2**64,
        10**18,
        253_402_300_800,
        -62_135_596_801,
    ),
    *(
        "",
        " ",
        "0",
        "1",
        "-1",
        "1e5",
        "nan",
        "NaN",
        "inf",
        "true",
        "null",
        "None",
        "a",
        "A" * 300,
        "b" * 5000,
        "c" * 100_000,
    ),
    *(
        "../../escape",
        "/etc/passwd",
        "..",
        ".",
        "a/b",
        "a\\b",
        "C:a",
        "~root",
        "\n",
        "a\nb",
        "\x1b[31mred",
        "é" * 50,
        "\u202eabc",
    ),
    *(
        "2026-11-14T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59-12:00",
        "2026-11-14",
    ),
    *(f"http://user:{CANARY}@127.0.0.1:9", f"s3://KEY:{CANARY}@bucket/prefix", f"http://127.0.0.1:9/?token={CANARY}"),
    *([], {}, [[]], [None], [1, 2, 3], ["a", "a"], {"a": 1}, {"0": 0}, [[1, 2], [3]], [0] * 5000),
]


def mutate_json(content: bytes, random: Random) -> bytes:
    """Return changed JSON."""
    if random.random() < _BYTES:
        return mutate_bytes(content, random)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return mutate_bytes(content, random)
    return mutate_document(document, random)


def mutate_document(document: Any, random: Random) -> bytes:
    """Return the JSON of a document with one to four changes."""
    root = {"": copy.deepcopy(document)}
    raw: list[str] = []
    for _ in range(min(1 + int(random.expovariate(1.2)), 4)):
        _change(root, random, raw)
    text = json.dumps(root.get(""), ensure_ascii=random.random() < 0.5)
    for number, value in reversed(list(enumerate(raw))):  # a later one may hold earlier ones
        text = text.replace(json.dumps(_mark(number)), value)
    return text.encode("utf-8", "surrogatepass")


def _mark(number: int) -> str:
    return f"@raw {number}@"


def _change(root: dict[str, Any], random: Random, raw: list[str]) -> None:
    """Change one value: any of all, where long lists have most, or one that a walk from the root ends at."""
    places = list(_places(root))
    if not places:
        root[""] = {}
        return
    holder, key = random.choice(places) if random.random() < 0.5 else _walked_to(root, random)
    match random.randrange(14):
        case 0 | 1 | 2:
            holder[key] = copy.deepcopy(random.choice(_VALUES))
        case 3 | 4:
            holder[key] = _mark(len(raw))
            raw.append(random.choice(_RAW))
        case 5 | 6 | 7 | 8:
            holder[key] = _near(holder[key], random)
        case 9:
            del holder[key]
        case 10:
            other, other_key = random.choice(places)
            if other_key in other if isinstance(other, dict) else other_key < len(other):
                holder[key] = copy.deepcopy(other[other_key])
        case 11:
            begin, end = random.choice((("[", "]"), ('{"a": ', "}")))
            depth, inner = random.choice((1, 2, 20, 200, 900, 50_000)), json.dumps(holder[key])
            holder[key] = _mark(len(raw))
            raw.append(begin * depth + inner + end * depth)
        case 12 if isinstance(holder, list):
            holder[key:key] = [copy.deepcopy(holder[key])] * random.choice((1, 2, 50, 2000))
        case 12:
            # The key a second time: a marker that becomes `…, "key": value`.
            mark = _mark(len(raw))
            raw.append(f"{json.dumps(holder[key])}, {json.dumps(key)}: {json.dumps(random.choice(_VALUES))}")
            holder[key] = mark
        case _ if isinstance(holder, dict) and holder is not root:
            value = holder.pop(key)
            holder[random.choice((str(key) + "_", str(key).upper(), "", "\ud800", "\0", "k" * 5000, "..", "-1"))] = (
                value
            )


def _near(value: Any, random: Random) -> Any:
    """Return a value like another one: of the same type, but longer, larger, negative, out of order."""
    if isinstance(value, bool) or value is None:
        return random.choice((True, False, None, 0, "true"))
    if isinstance(value, int):
        return random.choice(
            (value + 1, value - 1, -value, value * 2, value * 1000, value + 2**31, float(value), str(value))
        )
    if isinstance(value, float):
        return random.choice(
            (-value, value * 1e30, value * 1e-30, value + 1, 0.0, int(max(min(value, 1e300), -1e300)), str(value))
        )
    if isinstance(value, str):
        return random.choice(
            (
                value[:-1],
                value + value,
                value.upper(),
                value + "\0",
                value + "\ud800",
                f" {value}",
                value * 100,
                [value],
            )
        )
    if isinstance(value, list):
        shuffled = random.sample(value, len(value))
        return random.choice(
            (shuffled, value[:-1], value[1:], value + value, value * 20, value[::-1], [], dict(enumerate(value[:50])))
        )
    return random.choice(([value], list(value.values()), {}, {**value, "extra": 1}, list(value)))


def _walked_to(root: Any, random: Random) -> tuple[Any, Any]:
    """Return a place at the end of a walk that goes on with a chance of three to one."""
    holder, key = root, ""
    while isinstance(value := holder[key], dict | list) and value and random.random() < 0.75:
        holder, key = value, random.choice(list(value) if isinstance(value, dict) else range(len(value)))
    return holder, key


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a document: what holds it, and its key or position."""
    stack = [node]
    while stack:
        holder = stack.pop()
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            yield holder, key
            if isinstance(value, dict | list):
                stack.append(value)
