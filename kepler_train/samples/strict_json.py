"""Answers of Prometheus as strict JSON: one that breaks off is told from one that is something else."""

from __future__ import annotations

import json
from typing import Any

from kepler_train.errors import DataError
from kepler_train.strict_json import Constant, check_nesting, decoder

__all__ = ["Constant", "Truncated", "decoder", "loads"]


class Truncated(ValueError):
    """An answer whose JSON breaks off: the connection was cut, and the same request may succeed."""


def loads(body: bytes, constant: Constant | None = None) -> Any:
    """Return the content of a body of JSON, in UTF-8."""
    try:
        text = body.decode()
        check_nesting(text)
        return decoder(constant).decode(text)
    except RecursionError:
        raise DataError("The answer is not one of Prometheus: it is nested too deeply.") from None
    except ValueError as error:
        if _breaks_off(body, error):
            raise Truncated("The answer breaks off.") from None
        raise DataError(f"The answer is not JSON: {error}.") from None


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
