"""Raw captions by field name, whatever they were read from, and the words that messages about them use."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from capeval.errors import DataError

# The fields that are read. Everything else in a row is skipped without being decoded.

_Id = str | int | float | UnsetType
_Text = str | UnsetType
_Texts = str | list[str] | UnsetType


class _CandidateRow(msgspec.Struct, gc=False):
    image_id: _Id = UNSET
    image: _Id = UNSET
    caption: _Text = UNSET
    candidate: _Text = UNSET
    id: _Id = UNSET
    system: _Id = UNSET


class _Annotation(msgspec.Struct, gc=False):
    """A COCO annotation. Its own `id` is that of the caption, so unlike in other rows it never names the image."""

    image_id: _Id = UNSET
    image: _Id = UNSET
    caption: _Text = UNSET


class AnnotationFile(msgspec.Struct):
    annotations: list[_Annotation] | UnsetType = UNSET


class _ReferenceRow(msgspec.Struct, gc=False):
    image_id: _Id = UNSET
    image: _Id = UNSET
    id: _Id = UNSET
    references: _Texts = UNSET
    captions: _Texts = UNSET
    caption: _Texts = UNSET
    reference: _Texts = UNSET


@dataclass(frozen=True)
class Kind:
    """What is being read: candidates or references. Of several names for a field the first one present is used."""

    noun: str
    row: Any  # the Struct of one row
    rows: Any  # the type of a list of them
    image_names: tuple[str, ...]
    text_names: tuple[str, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.row.__struct_fields__)


CANDIDATES = Kind("candidates", _CandidateRow, list[_CandidateRow], ("image_id", "image"), ("caption", "candidate"))
REFERENCES = Kind(
    "references",
    _ReferenceRow,
    list[_ReferenceRow],
    ("image_id", "image", "id"),
    ("references", "captions", "caption", "reference"),
)
ANNOTATIONS = Kind("annotations", _Annotation, list[_Annotation], ("image_id", "image"), ("caption",))


@dataclass(frozen=True)
class Table:
    """Raw values by field name, UNSET where a row lacks the field. Fields that no row has are left out."""

    source: str
    kind: Kind
    columns: dict[str, list[Any]]
    unit: str
    """What a row is called in messages: a line of the file, a row of a table or an entry of a JSON document."""
    numbers: Sequence[int]
    header: Sequence[str] | None = None
    """All columns of the file, where it has a header."""
    called: Mapping[str, str] = field(default_factory=dict)
    """What the file calls a field, where that is another name than ours."""
    by_line: bool = False
    """Whether rows go by the number of their line."""

    def column(self, names: Sequence[str]) -> tuple[str, list[Any]]:
        """The first of these fields that there is, with its name."""
        for name in names:
            if name in self.columns:
                return self.called.get(name, name), self.columns[name]
        either = " or ".join(f"`{name}`" for name in names)
        remedy = "columns" if self.kind is not ANNOTATIONS else ""
        if self.header is None:
            self.refuse(range(len(self.numbers)), f"{either} is missing", remedy=remedy)
        there = ", ".join(map(repr, self.header or ()))
        message = f"no column {either} in this table of {self.kind.noun}. The columns there are: {there}"
        raise DataError(message, file=self.source, line=1 if self.unit == "line" else None, remedy=remedy)

    def part(self, begin: int, end: int) -> Table:
        """Some of its rows."""
        columns = {name: values[begin:end] for name, values in self.columns.items()}
        return replace(self, columns=columns, numbers=self.numbers[begin:end])

    def refuse(self, rows: Sequence[int], problem: str, ids: Sequence[Any] = (), remedy: str = "") -> None:
        """Raise if there are rows with this problem: the place of the first, how many, and which of the ids."""
        if not rows:
            return
        number = self.numbers[rows[0]]
        place, line = ("", number) if self.unit == "line" else (f"{self.unit} {number}: ", None)
        total = f" ({len(rows)} rows like this)" if len(rows) > 1 else ""
        shown = dict.fromkeys(text for text in (id_text(ids[i]) for i in rows if ids) if text is not None)
        raise DataError(f"{place}{problem}{total}.", file=self.source, line=line, ids=list(shown), remedy=remedy)


def made_table(
    source: str,
    kind: Kind,
    columns: dict[str, list[Any]],
    unit: str,
    numbers: Sequence[int],
    header: Sequence[str] | None = None,
) -> Table:
    if not len(numbers):
        raise DataError(f"no rows: there are no {kind.noun} in it", file=source)
    if header is None:
        columns = {name: values for name, values in columns.items() if values.count(UNSET) < len(values)}
    return Table(source, kind, columns, unit, numbers, header)


def table_from_structs(
    rows: Sequence[Any], source: str, kind: Kind, unit: str = "entry", numbers: Sequence[int] | None = None
) -> Table:
    columns = {name: list(map(attrgetter(name), rows)) for name in kind.fields}
    return made_table(source, kind, columns, unit, numbers or range(1, len(rows) + 1))


def without_blanks(columns: dict[str, list[Any]], kind: Kind) -> dict[str, list[Any]]:
    """Tables cannot leave a field out, so a blank cell of an optional column says that it is not given."""
    optional = [name for name in ("id", "system") if name in columns and kind is CANDIDATES]
    for name in optional:
        columns[name] = [UNSET if value is None or value == "" else value for value in columns[name]]
    return columns


def id_text(value: Any) -> str | None:
    if isinstance(value, str):
        return str(value) if value and is_encodable(value) else None
    if type(value) is int:  # the common case, and asking for Integral is slow
        return str(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real) and math.isfinite(value):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return None


def is_encodable(text: str) -> bool:
    """Whether the text can be written as UTF-8: JSON escapes can spell half a character, a lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def repeats(keys: Sequence[Hashable]) -> list[int]:
    """The rows whose key an earlier row has."""
    if len(set(keys)) == len(keys):
        return []
    first: dict[Hashable, int] = {}
    return [i for i, key in enumerate(keys) if first.setdefault(key, i) != i]


# Words for messages.


def problem_with(name: str, value: Any, wanted: str) -> str:
    return f"`{name}` is missing" if value is UNSET else f"`{name}` is {describe(value)}, not {wanted}"


def describe(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "an infinite number"
    if isinstance(value, Real):
        return "a number"
    if isinstance(value, str):
        return "an empty text" if not value else "a text" if is_encodable(value) else "a text with a lone surrogate"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, Mapping) else f"of type {type(value).__name__}"
