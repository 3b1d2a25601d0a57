"""The part of PromQL that reads series: selectors, ranges, and simple aggregations of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kepler_train.simulate.store import Matcher

AGGREGATIONS = ("sum", "count", "group", "min", "max")
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000}
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<name>[a-zA-Z_:][\w:]*) | (?P<duration>(?:\d+(?:ms|[smhdwy]))+) | (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+) |
    (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`) | (?P<op>=~|!~|!=|[={}()\[\],]) | (?P<bad>\S)
    )""",
    re.VERBOSE,
)


class QueryError(ValueError):
    """A query that Prometheus would refuse, or that this server does not know."""


@dataclass(frozen=True)
class Selector:
    """Series by name and label; with `range_ms` their raw samples."""

    name: str | None
    matchers: tuple[tuple[str, Matcher], ...]
    range_ms: int | None = None


@dataclass(frozen=True)
class Aggregation:
    """`operation by (labels) (of)`, or `without`."""

    operation: str
    labels: tuple[str, ...]
    without: bool
    of: Selector | Aggregation


@dataclass(frozen=True)
class Number:
    """A scalar."""

    value: float


Expression = Selector | Aggregation | Number


def duration_ms(text: str) -> int:
    """Return a Prometheus duration, `15m` or `1h30m`, in ms."""
    parts = re.findall(r"(\d+)(ms|[smhdwy])", text)
    if not parts or "".join(n + unit for n, unit in parts) != text:
        raise QueryError(f'not a valid duration string: "{text}"')
    return sum(int(n) * _UNITS[unit] for n, unit in parts)


def parse_query(text: str) -> Expression:
    """Return the query as a tree; refuse what is not in the subset."""
    parser = _Parser(text)
    tree = parser.expression()
    parser.expect("end", "")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = [
            (kind, match[kind], match.start(kind) + 1)
            for match in _TOKEN.finditer(text)
            for kind in (match.lastgroup or "",)
            if kind
        ]
        self._tokens.append(("end", "", len(text) + 1))
        self._at = 0
        if len(self._tokens) == 1:
            raise QueryError("1:1: parse error: no expression found in input")

    @property
    def _now(self) -> tuple[str, str, int]:
        return self._tokens[self._at]

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _is(self, *texts: str) -> bool:
        return self._now[0] in ("op", "name") and self._now[1] in texts

    def expect(self, kind: str, text: str | None = None) -> str:
        token, value, position = self._now
        if token != kind or (text is not None and value != text):
            shown = f'"{value}"' if value else "end of input"
            raise QueryError(f"1:{position}: parse error: unexpected {shown} (this simulated server knows selectors,"
                             f" ranges and {', '.join(AGGREGATIONS)} of them)")  # fmt: skip
        return self._next() if kind != "end" else ""

    def expression(self) -> Expression:
        kind, value, _ = self._now
        if kind == "number":
            return Number(float(self._next()))
        if self._is("("):
            self._next()
            inside = self.expression()
            self.expect("op", ")")
            return inside
        following = self._tokens[self._at + 1][1] if kind == "name" else ""
        if value in AGGREGATIONS and following in ("(", "by", "without"):
            return self._aggregation()
        return self._selector()

    def _aggregation(self) -> Aggregation:
        operation = self._next()
        labels, without = self._grouping()
        self.expect("op", "(")
        of = self.expression()
        self.expect("op", ")")
        if not labels and not without:
            labels, without = self._grouping()
        if isinstance(of, Number) or (isinstance(of, Selector) and of.range_ms is not None):
            kind = "scalar" if isinstance(of, Number) else "range vector"
            raise QueryError(
                f"1:{len(operation) + 2}: parse error: expected type instant vector in aggregation expression,"
                f" got {kind}"
            )
        return Aggregation(operation, labels, without, of)

    def _grouping(self) -> tuple[tuple[str, ...], bool]:
        if not self._is("by", "without"):
            return (), False
        without = self._next() == "without"
        self.expect("op", "(")
        labels = []
        while not self._is(")"):
            labels.append(self.expect("name"))
            if not self._is(")"):
                self.expect("op", ",")
        self._next()
        return tuple(labels), without

    def _selector(self) -> Selector:
        position = self._now[2]
        name = self._next() if self._now[0] == "name" else None
        matchers: list[tuple[str, Matcher]] = []
        if self._is("{"):
            self._next()
            while not self._is("}"):
                matchers.append(self._matcher())
                if not self._is("}"):
                    self.expect("op", ",")
            self._next()
        elif name is None:
            self.expect("name")
        if name is None and all(match("") for _, match in matchers):
            raise QueryError(f"1:{position}: parse error: vector selector must contain at least one non-empty matcher")
        range_ms = None
        if self._is("["):
            self._next()
            range_ms = duration_ms(self.expect("duration"))
            self.expect("op", "]")
        return Selector(name, tuple(matchers), range_ms)

    def _matcher(self) -> tuple[str, Matcher]:
        label = self.expect("name")
        operator, expected = self.expect("op"), _unquoted(self.expect("string"))
        if operator in ("=", "!="):
            return label, (lambda value: value == expected) if operator == "=" else (lambda value: value != expected)
        try:
            pattern = re.compile(expected, re.DOTALL)
        except re.error as error:
            raise QueryError(f"parse error: error parsing regexp: {error}") from error
        if operator == "=~":
            return label, lambda value: pattern.fullmatch(value) is not None
        if operator == "!~":
            return label, lambda value: pattern.fullmatch(value) is None
        raise QueryError(f'parse error: unexpected "{operator}" in label matching')


def _unquoted(token: str) -> str:
    inside = token[1:-1]
    if token[0] == "`":
        return inside
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), inside)
