"""Shards as tables of text: CSV and TSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from capeval.errors import DataError, counted
from capeval.io import longcells
from capeval.io.captions.cells import check_header
from capeval.io.files import after_mark, format_from_name
from capeval.stream.folder import Writing, without_query
from capeval.stream.forms.base import BLOCK_BYTES, BLOCK_ROWS, defined, opened, refuse_repeated
from capeval.stream.forms.packing import packed
from capeval.types import Array, Flags


class CsvRows:
    def __init__(self, header: Sequence[str], cells: list[list[str]], begin: int) -> None:
        self.cells, self.begin = cells, begin
        self._place = {name: i for i, name in enumerate(header)}
        self.broken = {
            i: f"{counted(len(row), 'cell')} under a header of {len(header)}: one that holds the delimiter needs quotes"
            for i, row in enumerate(cells)
            if len(row) != len(header)
        }

    def __len__(self) -> int:
        return len(self.cells)

    def column(self, name: str) -> Sequence[Any]:
        place = self._place.get(name)
        if place is None:
            return [None] * len(self.cells)
        return [row[place] if i not in self.broken else None for i, row in enumerate(self.cells)]


class CsvReader:
    binary: frozenset[str] = frozenset()

    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self.path = path
        self.delimiter = "\t" if format_from_name(without_query(path)) == "tsv" else ","
        self._text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        self._reader = longcells.reader(self._text, delimiter=self.delimiter, strict=True)
        with self._explained():
            self.header = [name.strip() for name in next(filter(None, self._reader), [])]
        check_header(self.header, path)

    def blocks(self) -> Iterator[CsvRows]:
        cells, size, begin = list[list[str]](), 0, 0
        with self._explained():
            for row in filter(None, self._reader):
                cells.append(row)
                size += sum(map(len, row))
                if len(cells) >= BLOCK_ROWS or size >= BLOCK_BYTES:
                    yield CsvRows(self.header, cells, begin)
                    cells, size, begin = [], 0, begin + len(cells)
        if cells:
            yield CsvRows(self.header, cells, begin)

    def writer(self, stream: Writing, labels: Sequence[str]) -> CsvWriter:
        refuse_repeated(self.header, labels, self.path)
        return CsvWriter(packed(stream, self.path), self.delimiter, [*self.header, *labels])

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except longcells.Error as problem:
            raise DataError(f"broken table: {problem}", file=self.path, line=self._reader.line_num) from None
        except UnicodeDecodeError as problem:
            raise DataError(f"not UTF-8: {problem.reason}", file=self.path, line=self._reader.line_num) from None


class CsvWriter:
    def __init__(self, stream: Any, delimiter: str, header: Sequence[str]) -> None:
        self._stream, self._delimiter = stream, delimiter
        self._write([list(header)])

    def write(self, rows: CsvRows, scores: Mapping[str, Array], keep: Flags) -> None:
        columns = [[defined(value) for value in values.tolist()] for values in scores.values()]
        self._write([*cells, *(column[i] for column in columns)] for i, cells in enumerate(rows.cells) if keep[i])

    def _write(self, rows: Any) -> None:
        text = io.StringIO(newline="")
        usual = csv.writer(text, delimiter=self._delimiter, lineterminator="\n")
        # Before Python 3.13 the writer leaves a carriage return without the quotes it needs, unless all is quoted.
        quoting = csv.writer(text, delimiter=self._delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        for row in rows:
            has_return = any(isinstance(cell, str) and "\r" in cell for cell in row)
            (quoting if has_return else usual).writerow(row)
        self._stream.write(text.getvalue().encode())

    def close(self) -> None:
        self._stream.close()


@contextmanager
def opened_csv(path: str) -> Iterator[CsvReader]:
    with opened(path) as stream:
        reader = CsvReader(path, after_mark(stream))
        try:
            yield reader
        finally:
            with suppress(ValueError):
                reader._text.detach()
