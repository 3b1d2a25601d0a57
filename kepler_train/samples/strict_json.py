"""Strict JSON: NaN and repeated keys, which other readers accept with a loss, are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kepler_train.errors import DataError

Constant = Callable[[str], Any]


class Truncated(ValueError):
    """An answer whose JSON breaks off: the connection was cut, and the same request may succeed."""


def decoder(constant: Constant | None = None) -> json.JSONDecoder:
    """Return a reader of JSON; `constant` returns what NaN stands for."""
    return json.JSONDecoder(object_pairs_hook=_once, parse_constant=constant or _refuse)


def loads(body: bytes, constant: Constant | None = None) -> Any:
    """Return the content of a body of JSON, in UTF-8."""
    try:
        return decoder(constant).decode(body.decode())
    except RecursionError:
        raise DataError("The answer is not one of Prometheus: it is nested too deeply.") from None
    except ValueError as error:
        if _breaks_off(body, error):
            raise Truncated("The answer breaks off.") from None
        raise DataError(f"The answer is not JSON: {error}.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is there twice")
    return content


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number of JSON")


def _breaks_off(body: bytes, error: ValueError) -> bool:
    """Return whether all was well until the end came too early."""
    text = body.strip()
    if not text.startswith(b"{"):
        return not text
    if not text.endswith(b"}"):
        return True
    return isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    )
