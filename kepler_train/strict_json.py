"""JSON from outside, read strictly: what other readers accept with a loss, or fall over, is refused in one sentence.

Refused are repeated keys, NaN and Infinity, numbers beyond float64, half a character (a lone surrogate), NUL, text that
is not UTF-8, and documents that nest too deeply or are too large to be one of ours.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import from_json

from kepler_train.errors import UserError

Constant = Callable[[str], Any]

MOST_BYTES = 16 * 2**20
# Numbers, texts, lists and objects of a document. One takes up to 72 bytes of memory, however few it takes in the file,
# and a key in an object three times as much.
MOST_VALUES, _PER_KEY = 4_000_000, 3
DEEPEST = 32  # lists and objects inside each other; no document of ours has more than 8
_MOST_OPEN = 500  # lists and objects that Python's reader may be in at once, about; its stack has 1,000 calls
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
LONGEST_NAME = 253  # characters, as of a host or an object of Kubernetes; a file's name may have 255 bytes
_LARGEST = sys.float_info.max
_ALIKE, _MANY_DIGITS = bytes.maketrans(b"123456789", b"000000000"), b"0" * 309
_MOST_SHOWN = 60  # characters of a foreign text in a sentence


class NotStrict(ValueError):
    """Why a text is not the JSON that we read, as a part of a sentence."""


def read(
    text: bytes | str, where: object, *, most_bytes: int = MOST_BYTES, most_values: int = MOST_VALUES, nul: bool = False
) -> Any:
    """Return the content of a JSON text from `where`; refuse what is not strict in one sentence."""
    try:
        return parse(text, most_bytes=most_bytes, most_values=most_values, nul=nul)
    except NotStrict as error:
        raise UserError(f"{where} is cut short or not JSON: {error}.") from None


def parse(text: bytes | str, *, most_bytes: int = MOST_BYTES, most_values: int = MOST_VALUES, nul: bool = False) -> Any:
    """Return the content of a JSON text, or raise `NotStrict`; with `nul`, texts in it may have NUL characters."""
    text = _decoded(text, most_bytes)
    _check_count(text.count, most_values)
    try:
        check_nesting(text)
        content = _STRICT.decode(text)
    except RecursionError:
        raise NotStrict(_too_deep()) from None
    except NotStrict:
        raise
    except json.JSONDecodeError as error:
        raise NotStrict(str(error)) from None
    except ValueError:  # of int(), for thousands of digits
        raise NotStrict("a number is beyond float64") from None
    _check_values(content, large=_has_large_integers(text))
    if "\\" in text:  # no other text can have either
        _check_texts(content, nul=nul)
    return content


def parse_numbers(text: bytes, *, most_bytes: int = MOST_BYTES, most_values: int = MOST_VALUES) -> Any:
    """Return the content of a JSON text of many numbers, or raise `NotStrict`, in half the CPU time of `parse`.

    Numbers may be infinite, and lists and objects deep: the caller checks what it reads.
    """
    if len(text) <= most_bytes and b"\\" not in text:
        _check_count(lambda sign: text.count(sign.encode()), most_values)
        try:
            content = from_json(text, allow_inf_nan=False)
        except ValueError:
            return parse(text, most_bytes=most_bytes, most_values=most_values)
        # Of a repeated key only the last is in the content: then it has fewer texts than the file.
        if 2 * _count_texts(content) == text.count(b'"'):
            return content
    return parse(text, most_bytes=most_bytes, most_values=most_values)


def decoder(constant: Constant | None = None) -> json.JSONDecoder:
    """Return a reader of JSON that refuses repeated keys and NaN; `constant` returns what NaN stands for instead."""
    return json.JSONDecoder(object_pairs_hook=_once, parse_constant=constant or _refuse)


def check_nesting(text: str) -> None:
    """Raise RecursionError for a text that nests so deeply that reading it would use up Python's stack.

    Whatever else Python does at the end of its stack fails: finalizers of other objects print tracebacks then.
    """
    if _is_deep(text) and _is_deep(_TEXT.sub("", text)):  # brackets in texts of a document do not count
        raise RecursionError("lists and objects are nested too deeply")


def _is_deep(text: str) -> bool:
    """Return whether more than half of Python's stack may be needed, going by all brackets."""
    brackets = text.encode("utf-8", "replace").translate(None, _NO_BRACKETS)
    for _ in range(DEEPEST):  # each time the innermost pairs go, which are nearly all of an ordinary document
        if len(brackets) <= _MOST_OPEN:
            return False
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    depth = itertools.accumulate(1 if bracket in b"[{" else -1 for bracket in brackets)
    return max(depth) > _MOST_OPEN


def name_problem(text: object, longest: int = LONGEST_NAME) -> str | None:
    """Return why something is no name, as a part of a sentence: names are printable, neither empty nor endless."""
    if not isinstance(text, str):
        return f"{shown(text)} is no text"
    if not text:
        return "a name is empty"
    if len(text) > longest:
        return f"the name {shown(text)} has {len(text):,} characters, more than {longest}"
    if "://" in text:
        return f"the name {shown(text)} is an address"
    if not text.isprintable():  # NUL, line breaks, half a character
        return f"the name {shown(text)} has characters that cannot be printed"
    return None


def shown(value: object) -> str:
    """Return a foreign value as it can stand in a sentence: on one line, printable, short and without a password."""
    if isinstance(value, str):
        scheme, address, _ = value[:_MOST_SHOWN].partition("://")
        return f"{scheme + address!a}{'…' if address or len(value) > _MOST_SHOWN else ''}"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return json.dumps(value)[:_MOST_SHOWN]


def _decoded(text: bytes | str, most_bytes: int) -> str:
    """Return text of at most so many bytes; a byte order mark, which some editors write, is left out."""
    if len(text) > most_bytes:
        raise NotStrict(f"it is larger than {most_bytes:,} bytes")
    try:
        if isinstance(text, bytes):
            return text.decode("utf-8-sig")
        text.encode()
    except UnicodeError:
        raise NotStrict("it is not text in UTF-8") from None
    return text


def _check_count(count: Callable[[str], int], most_values: int) -> None:
    """Refuse more values than may be there, before a single one takes memory."""
    if count(",") + count("[") + count("{") + _PER_KEY * count(":") > most_values:
        raise NotStrict(f"it holds more than {most_values:,} values")


def _count_texts(content: Any) -> int:
    """Return the number of keys and texts, or less where a list has texts after a number."""
    count = 0
    remaining: list[Any] = [[content]]
    while remaining:
        node = remaining.pop()
        if type(node) is dict:
            count += len(node)
        elif type(node[0]) in (int, float):
            continue
        for value in node.values() if type(node) is dict else node:
            if type(value) is str:
                count += 1
            elif type(value) in (dict, list) and value:
                remaining.append(value)
    return count


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        ((repeated, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise NotStrict(f"the key {shown(repeated)} is there twice")
    return content


def _refuse(constant: str) -> Any:
    raise NotStrict(f"{constant} is not a number of JSON")


_STRICT = decoder()


def _too_deep() -> str:
    return f"lists and objects are nested more than {DEEPEST} deep"


def _check_values(content: Any, *, large: bool) -> None:
    """Refuse numbers beyond float64, and nesting beyond `DEEPEST`. Level by level: deep documents need no stack.

    Without `large` integers a list of numbers is added up, and looked at one by one only where the sum is infinite.
    """
    level: list[Any] = [[content]]
    for _ in range(DEEPEST + 1):
        nested: list[Any] = []
        for node in level:
            values = list(node.values()) if type(node) is dict else node
            if large or not _add_up(values):
                _check_numbers(values)
                nested += [value for value in values if type(value) in (dict, list)]
        if not nested:
            return
        level = nested
    raise NotStrict(_too_deep())


def _add_up(values: list[Any]) -> bool:
    """Return whether values are numbers of a finite sum."""
    try:
        return math.isfinite(sum(values))
    except (TypeError, OverflowError):
        return False


def _check_numbers(values: list[Any]) -> None:
    if any(not -_LARGEST <= value <= _LARGEST for value in values if type(value) in (int, float)):
        raise NotStrict("a number is beyond float64")


def _has_large_integers(text: str) -> bool:
    """Return whether so many digits follow each other anywhere that float64 may not hold the number."""
    return _MANY_DIGITS in text.encode().translate(_ALIKE)


def _check_texts(content: Any, *, nul: bool) -> None:
    """Refuse half a character, which no file and no screen takes, and NUL unless it may be there."""
    for text in _texts(content):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotStrict(f"the text {shown(text)} has half a character") from None
        if "\0" in text and not nul:
            raise NotStrict(f"the text {shown(text)} has a NUL character")


def _texts(content: Any) -> Iterator[str]:
    """Yield every key and every text."""
    remaining = [content]
    while remaining:
        node = remaining.pop()
        if type(node) is str:
            yield node
        elif type(node) is dict:
            remaining += itertools.chain.from_iterable(node.items())
        elif type(node) is list:
            remaining += node
