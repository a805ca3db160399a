"""Reading candidate captions and references, and joining them by image id.

Every format becomes one `_Table` of raw values, and one set of checks turns tables into texts. JSON is decoded
straight into typed rows; only when that fails is it read again the slow way, which accepts more and can tell what
is wrong and where.
"""

from __future__ import annotations

import csv
import gc
import io
import json
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, cast

import msgspec
from msgspec import UNSET, UnsetType

from capeval.errors import DataError
from capeval.io.files import PathLike, format_from_name, import_pyarrow, read_bytes, source_name, utf8_without_bom
from capeval.types import Dataset

References = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Candidates:
    """Candidate captions as columns; row i of each belongs to caption i."""

    source: str
    ids: list[str]
    images: list[str]
    captions: list[str]
    systems: list[str]
    lines: Sequence[int] = field(default=(), compare=False, repr=False)
    """The line of each row in the file, where its format has lines; only error messages need it."""


@dataclass(frozen=True)
class Joined:
    """Candidates with their references, and how many images with references no candidate asked for."""

    dataset: Dataset
    unused_images: int


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Reading makes a great many objects and no garbage; the collector would walk through all of them repeatedly."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_collector_paused()
def read_candidates(path: PathLike) -> Candidates:
    """Candidates from a file: COCO results JSON, JSONL, CSV, TSV or Parquet; `-` is standard input."""
    return _candidates(_read(path, _CANDIDATES))


@_collector_paused()
def read_references(path: PathLike, *more: PathLike) -> References:
    """References from a file: COCO annotations, id -> captions, or rows as JSON, JSONL, CSV, TSV or Parquet.

    Those of more files are added in their order, image by image. A caption that two files have is there twice, as it
    would be in one file.
    """
    found = _references(_read(path, _REFERENCES))
    for other in more:
        for image, captions in _references(_read(other, _REFERENCES)).items():
            found[image] = found.get(image, ()) + captions
    return found


def candidates_from(obj: object, source: str = "candidates") -> Candidates:
    """Candidates from a list of captions (ids "0", "1", ...), a dict id -> caption, or a list of COCO result rows."""
    return _candidates(_table_from_object(obj, source, _CANDIDATES, by_position=True))


def references_from(obj: object, source: str = "references") -> References:
    """References from a list of lists (ids "0", "1", ...), a dict id -> captions, COCO annotations, or rows."""
    return _references(_table_from_object(obj, source, _REFERENCES, by_position=True))


def join(candidates: Candidates, references: References | None, *, strict: bool = False) -> Joined:
    """Give every candidate the references of its image. `strict` refuses references that no candidate uses.

    None is for metrics that need no references.
    """
    if references is None:
        references = dict.fromkeys(candidates.images, ())
    missing = [i for i, image in enumerate(candidates.images) if image not in references]
    if missing:
        line = candidates.lines[missing[0]] if candidates.lines else None
        images = list(dict.fromkeys(candidates.images[i] for i in missing))
        message = f"{_count(len(images), 'image')} of the candidates without references."
        raise DataError(message, file=candidates.source, line=line, ids=images)
    used: dict[str, int] = {}
    group = [used.setdefault(image, len(used)) for image in candidates.images]
    unused = len(references) - len(used)
    if strict and unused:
        message = f"{_count(unused, 'image')} with references but without a candidate."
        raise DataError(message, file=candidates.source, ids=[image for image in references if image not in used])
    sets = [references[image] for image in used]
    dataset = Dataset(candidates.ids, candidates.images, candidates.captions, sets, group, candidates.systems)
    return Joined(dataset, unused)


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


class _AnnotationFile(msgspec.Struct):
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
class _Kind:
    """What is being read: candidates or references. Of several names for a field the first one present is used."""

    noun: str
    row: Any  # the Struct of one row
    rows: Any  # the type of a list of them
    image_names: tuple[str, ...]
    text_names: tuple[str, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.row.__struct_fields__)


_CANDIDATES = _Kind("candidates", _CandidateRow, list[_CandidateRow], ("image_id", "image"), ("caption", "candidate"))
_REFERENCES = _Kind(
    "references",
    _ReferenceRow,
    list[_ReferenceRow],
    ("image_id", "image", "id"),
    ("references", "captions", "caption", "reference"),
)
_ANNOTATIONS = _Kind("annotations", _Annotation, list[_Annotation], ("image_id", "image"), ("caption",))


@dataclass(frozen=True)
class _Table:
    """Raw values by field name, UNSET where a row lacks the field. Fields that no row has are left out."""

    source: str
    kind: _Kind
    columns: dict[str, list[Any]]
    unit: str
    """What a row is called in messages: a line of the file, a row of a table or an entry of a JSON document."""
    numbers: Sequence[int]
    header: Sequence[str] | None = None
    """All columns of the file, where it has a header."""

    def column(self, names: Sequence[str]) -> tuple[str, list[Any]]:
        """The first of these fields that there is, with its name."""
        for name in names:
            if name in self.columns:
                return name, self.columns[name]
        either = " or ".join(f"`{name}`" for name in names)
        if self.header is None:
            self.refuse(range(len(self.numbers)), f"{either} is missing")
        there = ", ".join(map(repr, self.header or ()))
        message = f"no column {either} in this table of {self.kind.noun}. The columns there are: {there}"
        raise DataError(message, file=self.source, line=1 if self.unit == "line" else None)

    def refuse(self, rows: Sequence[int], problem: str, ids: Sequence[Any] = ()) -> None:
        """Raise if there are rows with this problem: the place of the first, how many, and which of the ids."""
        if not rows:
            return
        number = self.numbers[rows[0]]
        place, line = ("", number) if self.unit == "line" else (f"{self.unit} {number}: ", None)
        total = f" ({len(rows)} rows like this)" if len(rows) > 1 else ""
        shown = dict.fromkeys(text for text in (_id_text(ids[i]) for i in rows if ids) if text is not None)
        raise DataError(f"{place}{problem}{total}.", file=self.source, line=line, ids=list(shown))


# From a file to a table.


def _read(path: PathLike, kind: _Kind) -> _Table:
    source, data = source_name(path), read_bytes(path)
    file_format = format_from_name(path) or _sniff(data)
    if data and file_format == "parquet":
        return _table_from_parquet(data, source, kind)
    data = utf8_without_bom(data, source)
    if not data or data.isspace():
        raise DataError("the file is empty", file=source)
    readers: dict[str, Callable[[bytes, str, _Kind], _Table]] = {
        "json": _table_from_json,
        "jsonl": _table_from_jsonl,
        "csv": _table_from_csv,
        "tsv": _table_from_tsv,
    }
    return readers[file_format](data, source, kind)


def _sniff(data: bytes) -> str:
    """The format by the first line; nothing is parsed."""
    if data.startswith(b"PAR1"):
        return "parquet"
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    end = text.find(b"\n") + 1
    if text.startswith(b"{"):
        # An object that ends with its line, and more after it: one object per line.
        is_line = text[:end].rstrip().endswith(b"}") and text[end : end + 4096].strip()
        return "jsonl" if is_line else "json"
    if text.startswith(b"["):
        return "json"
    return "tsv" if b"\t" in text[: end or None] else "csv"


def _table_from_json(data: bytes, source: str, kind: _Kind) -> _Table:
    try:
        if data.lstrip()[:1] == b"[":
            rows = msgspec.json.decode(data, type=kind.rows)
            return _table_from_structs(rows, source, kind)
        if kind is _REFERENCES and b'"annotations"' in data:
            annotations = msgspec.json.decode(data, type=_AnnotationFile).annotations
            if annotations is not UNSET:
                return _table_from_structs(annotations, source, _ANNOTATIONS)
    except (msgspec.DecodeError, RecursionError):
        pass  # below it is read again, to accept what is legal though unusual and to explain the rest
    return _table_from_object(_parse_json(data, source), source, kind)


def _table_from_jsonl(data: bytes, source: str, kind: _Kind) -> _Table:
    decode = msgspec.json.Decoder(kind.row).decode
    rows, numbers = [], array("q")
    # BytesIO ends lines at \n only: the other line breaks of Unicode may stand inside a caption.
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.isspace():
            continue
        try:
            row = decode(line)
        except (msgspec.DecodeError, RecursionError):
            row = _struct_from_line(line, number, source, kind)
        rows.append(row)
        numbers.append(number)
    return _table_from_structs(rows, source, kind, "line", numbers)


def _struct_from_line(line: bytes, number: int, source: str, kind: _Kind) -> Any:
    row = _parse_json(line, source, number)
    if not isinstance(row, dict):
        raise DataError(f"a JSON object is needed, not {_describe(row)}", file=source, line=number)
    return kind.row(**{name: row[name] for name in kind.fields if name in row})  # types are checked later


def _parse_json(data: bytes, source: str, line: int | None = None) -> Any:
    """Any JSON value. `line` is the number of the only line there is, else lines are counted in `data`."""
    text = data.decode("utf-8")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = list(dict.fromkeys(keys[i] for i in _repeats(keys)))
            raise DataError("a JSON object has the same key twice.", file=source, line=line, ids=repeated)
        return values

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        message = f"broken JSON at column {error.colno}: {error.msg}"
        if line is None and error.msg == "Extra data":
            message += ". For one JSON object per line name the file .jsonl"
        raise DataError(message, file=source, line=line or error.lineno) from None
    except RecursionError:
        raise DataError("the JSON is nested too deeply", file=source, line=line) from None
    except ValueError as error:  # an integer of thousands of digits
        raise DataError(f"broken JSON: {error}", file=source, line=line) from None


def _table_from_structs(
    rows: Sequence[Any], source: str, kind: _Kind, unit: str = "entry", numbers: Sequence[int] | None = None
) -> _Table:
    columns = {name: list(map(attrgetter(name), rows)) for name in kind.fields}
    return _table(source, kind, columns, unit, numbers or range(1, len(rows) + 1))


def _table_from_tsv(data: bytes, source: str, kind: _Kind) -> _Table:
    return _table_from_csv(data, source, kind, delimiter="\t")


def _table_from_csv(data: bytes, source: str, kind: _Kind, delimiter: str = ",") -> _Table:
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    rows, numbers = [], array("q")
    header: list[str] = []
    number = 1
    usual_limit = csv.field_size_limit(len(data))  # a caption may be as long as the file
    try:
        for cells in reader:
            if not header:
                header = [name.strip() for name in cells]
                _check_header(header, source)
            elif cells:
                if len(cells) != len(header):
                    message = f"{_count(len(cells), 'cell')} under a header of {len(header)}"
                    message += ". A caption that holds the delimiter needs quotes"
                    raise DataError(message, file=source, line=number)
                rows.append(cells)
                numbers.append(number)
            number = reader.line_num + 1  # where the next row starts; quoted cells may hold line breaks
    except csv.Error as error:
        message = f"broken table: {error}. A cell that holds quotes must be quoted, with each quote inside doubled"
        raise DataError(message, file=source, line=number) from None
    finally:
        csv.field_size_limit(usual_limit)
    places = {name: header.index(name) for name in kind.fields if name in header}
    columns: dict[str, list[Any]] = {name: [cells[place] for cells in rows] for name, place in places.items()}
    return _table(source, kind, _without_blanks(columns, kind), "line", numbers, header)


def _check_header(header: Sequence[str], source: str) -> None:
    repeated = sorted({name for name in header if header.count(name) > 1 and name})
    if repeated:
        raise DataError(f"the header has the same column twice: {', '.join(repeated)}", file=source)


def _table_from_parquet(data: bytes, source: str, kind: _Kind) -> _Table:
    arrow, parquet = import_pyarrow()
    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        header = list(file.schema_arrow.names)
        _check_header(header, source)
        wanted = [name for name in kind.fields if name in header]
        values = file.read(columns=wanted)
        columns = {name: values.column(name).to_pylist() for name in wanted}
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"not a readable Parquet file: {error}", file=source) from error
    columns = _without_blanks(columns, kind)
    return _table(source, kind, columns, "row", range(1, file.metadata.num_rows + 1), header)


def _without_blanks(columns: dict[str, list[Any]], kind: _Kind) -> dict[str, list[Any]]:
    """Tables cannot leave a field out, so a blank cell of an optional column says that it is not given."""
    optional = [name for name in ("id", "system") if name in columns and kind is _CANDIDATES]
    for name in optional:
        columns[name] = [UNSET if value is None or value == "" else value for value in columns[name]]
    return columns


def _table(
    source: str,
    kind: _Kind,
    columns: dict[str, list[Any]],
    unit: str,
    numbers: Sequence[int],
    header: Sequence[str] | None = None,
) -> _Table:
    if not len(numbers):
        raise DataError(f"no rows: there are no {kind.noun} in it", file=source)
    if header is None:
        columns = {name: values for name, values in columns.items() if values.count(UNSET) < len(values)}
    return _Table(source, kind, columns, unit, numbers, header)


# From Python objects, which is also what unusual JSON documents become.


def _table_from_object(obj: Any, source: str, kind: _Kind, *, by_position: bool = False) -> _Table:
    """`by_position` lets bare captions in a list count as rows; a file has to name its images."""
    if isinstance(obj, Mapping):
        return _table_from_mapping(obj, source, kind)
    if not isinstance(obj, (list, tuple)):
        raise DataError(f"{_wanted(kind)}, not {_describe(obj)}", file=source)
    if by_position and all(isinstance(entry, (str, list, tuple)) for entry in obj):
        return _table_of_pairs(list(map(str, range(len(obj)))), obj, source, kind)
    return _table_from_mappings(obj, source, kind)


def _table_from_mapping(obj: Mapping[Any, Any], source: str, kind: _Kind) -> _Table:
    if "annotations" in obj:
        if kind is _CANDIDATES:
            message = "these are COCO annotations, which serve as references. Are the two files swapped?"
            raise DataError(message, file=source)
        return _table_from_mappings(obj["annotations"], source, _ANNOTATIONS)
    if any(name in obj for name in kind.image_names) and any(name in obj for name in kind.text_names):
        return _table_from_mappings([obj], source, kind)  # one line of JSONL looks like this
    return _table_of_pairs(list(obj), list(obj.values()), source, kind)


def _table_of_pairs(images: list[Any], texts: Sequence[Any], source: str, kind: _Kind) -> _Table:
    if kind is _CANDIDATES:
        texts = [text[0] if isinstance(text, (list, tuple)) and len(text) == 1 else text for text in texts]
    columns = {"image_id": images, kind.text_names[0]: list(texts)}
    return _table(source, kind, columns, "entry", range(1, len(images) + 1))


def _table_from_mappings(rows: Any, source: str, kind: _Kind) -> _Table:
    if not isinstance(rows, (list, tuple)):
        raise DataError(f"`{kind.noun}` must be a list, not {_describe(rows)}", file=source)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise DataError(f"entry {number}: {_wanted(kind)}; this entry is {_describe(row)}", file=source)
    columns = {name: [row.get(name, UNSET) for row in rows] for name in kind.fields}
    return _table(source, kind, columns, "entry", range(1, len(rows) + 1))


def _wanted(kind: _Kind) -> str:
    if kind is _CANDIDATES:
        return 'a list of {"image_id", "caption"} objects is needed'
    return 'COCO annotations, an object id -> captions or a list of {"image_id", "references"} objects is needed'


# From a table to texts.


def _candidates(table: _Table) -> Candidates:
    own_ids = table.columns.get("id", ())
    images = _ids(table, *table.column(table.kind.image_names), own_ids)
    captions = _captions(table, *table.column(table.kind.text_names), images)
    ids, systems = images, [""] * len(images)
    if own_ids:
        given = [image if own is UNSET else own for image, own in zip(images, own_ids, strict=True)]
        ids = _ids(table, "id", given, images)
    if "system" in table.columns:
        systems = _systems(table, table.columns["system"], images)
    _refuse_repeats(table, ids, systems)
    return Candidates(table.source, ids, images, captions, systems, table.numbers if table.unit == "line" else ())


def _refuse_repeats(table: _Table, ids: list[str], systems: list[str]) -> None:
    repeats = _repeats(list(zip(ids, systems, strict=True)) if any(systems) else ids)
    if repeats and ("id" not in table.columns or table.columns["id"][repeats[0]] is UNSET):
        problem = "more than one candidate for an image. Give each row its own `id`, or a `system`"
    else:
        problem = "repeated id"
    table.refuse(repeats, problem, ids)


def _references(table: _Table) -> References:
    image_name, images = table.column(table.kind.image_names)
    name, texts = table.column(table.kind.text_names)
    if not {list, tuple}.isdisjoint(map(type, texts)):
        return _listed_references(table, name, texts, _ids(table, image_name, images))
    if set(map(type, images)) != {int}:  # integers are right as they are, and become text once per image below
        images = _ids(table, image_name, images)
    grouped: defaultdict[Any, list[str]] = defaultdict(list)
    for image, caption in zip(images, _captions(table, name, texts, images), strict=True):
        grouped[image].append(caption)
    return {str(image): tuple(captions) for image, captions in grouped.items()}


def _listed_references(table: _Table, name: str, raw: list[Any], images: list[str]) -> References:
    """Each row holds all references of its image."""
    lists = [value if isinstance(value, (list, tuple)) else [value] for value in raw]
    table.refuse([i for i, texts in enumerate(lists) if not texts], "an image with no references", images)
    sets = [tuple(_cleaned(texts)) for texts in lists]
    bad = [i for i, texts in enumerate(sets) if None in texts]
    if bad:
        value = lists[bad[0]][sets[bad[0]].index(None)]
        table.refuse(bad, _problem(name, value, "a text"), images)
    table.refuse(_repeats(images), "more than one list of references for an image", images)
    return cast(References, dict(zip(images, sets, strict=True)))


def _ids(table: _Table, name: str, raw: list[Any], known: Sequence[Any] = ()) -> list[str]:
    """Ids as text: 7, "7" and 7.0 are the same. `known` are other ids of the rows, for messages."""
    if set(map(type, raw)) <= {str, int, float}:
        # Once per distinct value, and equal ids become one object.
        text_of = {value: _id_text(value) for value in set(raw)}
        texts = [text_of[value] for value in raw]
    else:
        texts = list(map(_id_text, raw))
    return _complete(table, name, raw, texts, known, "a text or a number")


def _systems(table: _Table, raw: list[Any], images: list[str]) -> list[str]:
    texts = ["" if value is UNSET or value == "" else _id_text(value) for value in raw]
    return _complete(table, "system", raw, texts, images, "a text or a number")


def _captions(table: _Table, name: str, raw: list[Any], images: list[Any]) -> list[str]:
    return _complete(table, name, raw, _cleaned(raw), images, "a text")


def _complete(
    table: _Table, name: str, raw: list[Any], texts: list[str | None], known: Sequence[Any], wanted: str
) -> list[str]:
    """The texts, once it is sure that none of them is None, which stands for a raw value of the wrong type."""
    if None in texts:
        bad = [i for i, text in enumerate(texts) if text is None]
        table.refuse(bad, _problem(name, raw[bad[0]], wanted), known)
    return cast(list[str], texts)


def _id_text(value: Any) -> str | None:
    if isinstance(value, str):
        return str(value) if value and _is_encodable(value) else None
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


# These are the line breaks of str.splitlines: whatever splits a list of captions into lines must not split a caption.
_LINE_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def _cleaned(raw: Iterable[Any]) -> list[str | None]:
    """Captions with spaces for line breaks; None for what is no caption."""
    # Almost all captions are printable, which rules out both line breaks and lone surrogates.
    return [text if type(text) is str and text.isprintable() else _caption_text(text) for text in raw]


def _caption_text(value: Any) -> str | None:
    if not isinstance(value, str) or not _is_encodable(value):
        return None
    return _LINE_BREAK.sub(" ", value)


def _is_encodable(text: str) -> bool:
    """Whether the text can be written as UTF-8: JSON escapes can spell half a character, a lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _repeats(keys: Sequence[Hashable]) -> list[int]:
    """The rows whose key an earlier row has."""
    if len(set(keys)) == len(keys):
        return []
    first: dict[Hashable, int] = {}
    return [i for i, key in enumerate(keys) if first.setdefault(key, i) != i]


# Words for messages.


def _problem(name: str, value: Any, wanted: str) -> str:
    return f"`{name}` is missing" if value is UNSET else f"`{name}` is {_describe(value)}, not {wanted}"


def _describe(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "an infinite number"
    if isinstance(value, Real):
        return "a number"
    if isinstance(value, str):
        return "an empty text" if not value else "a text" if _is_encodable(value) else "a text with a lone surrogate"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, Mapping) else f"of type {type(value).__name__}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
