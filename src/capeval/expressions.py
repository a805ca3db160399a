"""The notation of metric expressions: a name, and parameters in brackets as in `cider_d(df=coco-val2014)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from capeval.errors import ExpressionError

_EXPRESSION = re.compile(r"\s*(?P<name>[A-Za-z_][\w-]*)\s*(?:\((?P<parameters>.*)\))?\s*", re.DOTALL)
_PARAMETER = re.compile(
    r"""\s*(?P<key>\w+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^,"'()]*))\s*(?:,|$)"""
)
_NEEDS_QUOTES = re.compile(r"""[,()"'\s]""")


# What stands between commas: brackets with all that is in them, and anything else.
_ENTRY = re.compile(r"""(?:\((?:"[^"]*"|'[^']*'|[^"')])*\)|[^,(])+""")


class Expression(NamedTuple):
    name: str
    parameters: dict[str, str]


def split_expressions(text: str) -> list[str]:
    """The expressions of a list such as `bleu, cider_d(n=2, sigma=3)`: commas within brackets do not count."""
    parts = _ENTRY.findall(text)
    is_list = len(parts) > 1 and ",".join(parts).replace(" ", "") == text.strip(" ,").replace(" ", "")
    return [part.strip() for part in parts if part.strip()] if is_list else [text]


def read_expression(text: str) -> Expression:
    """The name and the parameters, as they are written."""
    match = _EXPRESSION.fullmatch(text)
    if not match:
        raise ExpressionError(f"cannot read the metric expression {text!r}; write it like cider_d(df=corpus)")
    parameters: dict[str, str] = {}
    inside, place = match["parameters"] or "", 0
    while inside[place:].strip():
        found = _PARAMETER.match(inside, place)
        if not found:
            raise ExpressionError(
                f"cannot read the parameters of {text!r} at {inside[place:].strip()!r}; write them as name=value, "
                'with "quotes" around a value that has commas or brackets'
            )
        place = found.end()
        if found["key"] in parameters:
            raise ExpressionError(f"{text!r} gives {found['key']} twice")
        quoted = next((found[kind] for kind in ("double", "single") if found[kind] is not None), None)
        parameters[found["key"]] = found["bare"].strip() if quoted is None else quoted
    return Expression(match["name"], parameters)


def write_expression(name: str, parameters: Mapping[str, Any]) -> str:
    """What `read_expression` reads."""
    shown = ", ".join(f"{key}={_written(value)}" for key, value in parameters.items())
    return f"{name}({shown})" if shown else name


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    text = str(value)
    if not _NEEDS_QUOTES.search(text):
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'
