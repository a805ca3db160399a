"""Which rows pass: `cider_d > 0.4 and length < 60`, read by a small parser of its own. Nothing in it is executed.

    expression   either ("or" either)*              with "and" before "or", "not" and brackets as usual
    comparison   operand (< <= > >= == !=) operand  and so on: 3 <= length < 60
    operand      a name, a number, or a text in quotes; a name that is no plain word stands in `backquotes`

A comparison with something that is not there, such as the score of a row that failed, is false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from capeval.errors import CapevalError
from capeval.types import Array, Flags

Column = Array | Sequence[Any]
Lookup = Callable[[str], Column]

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<text>"[^"]*"|'[^']*')|(?P<name>[^\W\d]\w*)"""
    r"""|`(?P<quoted>[^`]+)`|(?P<sign><=|>=|==|!=|<|>|\(|\)))"""
)
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_DEEPEST = 50


class FilterError(CapevalError):
    """A filter that cannot be read, or that compares what cannot be compared."""


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


class Filter:
    """A filter that was read once and is asked for each block of rows."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        """The names that it speaks of."""
        self._tokens, self._next = _tokens(text), 0
        self._test = self._either(0)
        if self._next < len(self._tokens):
            raise self._problem("`and` or `or` is missing before it")

    def __call__(self, lookup: Lookup, rows: int) -> Flags:
        """For each row, whether it passes. `lookup` gives the column of a name."""
        columns = {name: lookup(name) for name in self.names}
        return np.asarray(self._test(columns, rows))

    def _either(self, depth: int) -> Any:
        return self._chain("or", np.logical_or, self._both, depth)

    def _both(self, depth: int) -> Any:
        return self._chain("and", np.logical_and, self._term, depth)

    def _chain(self, word: str, join: Any, part: Callable[[int], Any], depth: int) -> Any:
        parts = [part(depth)]
        while self._take("name", word):
            parts.append(part(depth))
        return parts[0] if len(parts) == 1 else lambda columns, rows: join.reduce([p(columns, rows) for p in parts])

    def _term(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self._problem("there are too many brackets round it")
        if self._take("name", "not"):
            inner = self._term(depth + 1)
            return lambda columns, rows: ~inner(columns, rows)
        if self._take("sign", "("):
            inner = self._either(depth + 1)
            if not self._take("sign", ")"):
                raise self._problem("a closing bracket is missing before it")
            return inner
        return self._comparison()

    def _comparison(self) -> Any:
        operands, signs = [self._operand()], []
        while self._next < len(self._tokens) and self._tokens[self._next].text in _COMPARE:
            signs.append(self._tokens[self._next].text)
            self._next += 1
            operands.append(self._operand())
        if not signs:
            raise self._problem("a comparison such as < or == is missing before it")

        def test(columns: Mapping[str, Column], rows: int) -> Flags:
            values = [columns[each] if isinstance(each, _Name) else each for each in operands]
            tests = [_compared(a, sign, b, rows, self.text) for a, sign, b in zip(values, signs, values[1:])]
            return np.asarray(np.logical_and.reduce(tests))

        return test

    def _operand(self) -> Any:
        if self._next >= len(self._tokens):
            raise self._problem("")
        token = self._tokens[self._next]
        if token.kind == "sign" or (token.kind == "name" and token.text in ("and", "or", "not")):
            raise self._problem("a name, a number or a text in quotes is needed here")
        self._next += 1
        if token.kind == "number":
            return float(token.text)
        if token.kind == "text":
            return token.text[1:-1]
        if token.text not in self.names:
            self.names.append(token.text)
        return _Name(token.text)

    def _take(self, kind: str, text: str) -> bool:
        found = self._next < len(self._tokens) and self._tokens[self._next][:2] == (kind, text)
        self._next += found
        return found

    def _problem(self, what: str) -> FilterError:
        if self._next >= len(self._tokens):
            return FilterError(f"the filter {self.text!r} ends too early. {EXAMPLE}")
        token = self._tokens[self._next]
        return FilterError(f"the filter {self.text!r}, at {token.text!r} (column {token.place + 1}): {what}. {EXAMPLE}")


EXAMPLE = "An example of a filter: cider_d > 0.4 and length < 60"


class _Name(str):
    """Not a text, but what stands under that name."""


def _tokens(text: str) -> list[_Token]:
    found, place = [], 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise FilterError(f"the filter {text!r} cannot be read at {text[place:].strip()[:20]!r}. {EXAMPLE}")
        kind = str(match.lastgroup)
        found.append(_Token("name" if kind == "quoted" else kind, match[kind], match.start(kind)))
        place = match.end()
    return found


def _compared(a: Any, sign: str, b: Any, rows: int, text: str) -> Flags:
    left, right = _values(a, rows), _values(b, rows)
    if isinstance(left, list) != isinstance(right, list):
        # A column of a text file holds numbers as texts.
        left, right = (_numbers(each, text) if isinstance(each, list) else each for each in (left, right))
    if isinstance(left, list):
        both = zip(left, right, strict=True)
        return np.array([x is not None and y is not None and bool(_COMPARE[sign](x, y)) for x, y in both], bool)
    with np.errstate(invalid="ignore"):
        there = ~(np.isnan(left) | np.isnan(right))
        return np.asarray(_COMPARE[sign](left, right) & there)


def _values(operand: Any, rows: int) -> Any:
    """An array of numbers, or a list of texts and None."""
    if isinstance(operand, float):
        return np.full(rows, operand)
    if isinstance(operand, str):
        return [operand] * rows
    if isinstance(operand, np.ndarray):
        return operand.astype(np.float64)
    if all(value is None or isinstance(value, (bool, int, float)) for value in operand):
        return np.array([np.nan if value is None else value for value in operand], np.float64)
    return [value if value is None or isinstance(value, str) else str(value) for value in operand]


def _numbers(texts: list[str | None], filter_: str) -> Array:
    found = np.full(len(texts), np.nan)
    for i, each in enumerate(texts):
        if each is not None and each.strip():
            try:
                found[i] = float(each)
            except ValueError:
                raise FilterError(
                    f"the filter {filter_!r} compares a number with a text: {each[:40]!r}. Texts stand in quotes"
                ) from None
    return found
