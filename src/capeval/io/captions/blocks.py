"""Candidates of a large file, a block of rows at a time, so that memory does not grow with the file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError
from capeval.io.captions.cells import check_header, csv_tables
from capeval.io.captions.formats import jsonl_tables, read_table
from capeval.io.captions.layout import PLAIN, Reading, layout_of
from capeval.io.captions.rows import laid_out
from capeval.io.captions.table import CANDIDATES, Table, made_table, without_blanks
from capeval.io.captions.texts import Candidates, candidates_of
from capeval.io.files import PathLike, format_from_name, import_pyarrow, is_standard_stream, opened, source_name

ROWS = 50_000


def candidate_blocks(path: PathLike, size: int = ROWS, reading: Reading = PLAIN) -> Iterator[Candidates]:
    """The candidates of a file in blocks of so many rows. A repeated id is refused, in whatever blocks it stands.

    JSONL, CSV, TSV and Parquet are read as they are needed. A JSON document, and a file whose name does not tell its
    format, has to be read whole.
    """
    if size < 1:
        raise ValueError("a block has one row at least")
    seen = Seen()
    for table in _tables(path, size, reading):
        block = candidates_of(table)
        again = seen.repeats([f"{system}\0{key}" for key, system in zip(block.ids, block.systems, strict=True)])
        table.refuse(again, "repeated id", block.ids)
        yield block


def _tables(path: PathLike, size: int, reading: Reading) -> Iterator[Table]:
    kind, source = format_from_name(path), source_name(path)
    if kind == "parquet" and not is_standard_stream(path):
        yield from _parquet_tables(path, size, reading)
    elif kind == "jsonl":
        with opened(path) as stream:
            yield from jsonl_tables(_checked(stream, source), source, CANDIDATES, size, reading)
    elif kind in ("csv", "tsv"):
        with opened(path) as stream:
            yield from csv_tables(stream, source, CANDIDATES, "\t" if kind == "tsv" else ",", size, reading)
    else:
        whole = read_table(path, CANDIDATES, reading)
        for begin in range(0, len(whole.numbers), size):
            yield whole.part(begin, begin + size)


def _checked(lines: Iterable[bytes], source: str) -> Iterator[bytes]:
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise DataError(f"not UTF-8: {error.reason}", file=source, line=number) from None
        yield line


def _parquet_tables(path: PathLike, size: int, reading: Reading) -> Iterator[Table]:
    arrow, parquet = import_pyarrow()
    source, begin = source_name(path), 1
    try:
        with parquet.ParquetFile(path) as file:
            header = list(file.schema_arrow.names)
            check_header(header, source)
            wanted = [name for name in CANDIDATES.fields if name in header]
            layout = layout_of(header, CANDIDATES, reading, source)
            if layout:
                reading.tell(f"{source}: {layout.described(header)}")
                wanted = layout.columns()
            for batch in file.iter_batches(size, columns=wanted):
                columns: dict[str, list[Any]] = {name: batch.column(name).to_pylist() for name in wanted}
                numbers = range(begin, begin + len(batch))
                if layout:
                    yield laid_out(source, CANDIDATES, layout, columns.__getitem__, "row", numbers, header)
                else:
                    yield made_table(source, CANDIDATES, without_blanks(columns, CANDIDATES), "row", numbers, header)
                begin += len(batch)
    except FileNotFoundError:
        raise DataError("there is no such file", file=source) from None
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"not a readable Parquet file: {error}", file=source) from error
    if begin == 1:
        made_table(source, CANDIDATES, {}, "row", (), header)  # which says that there is nothing in it


class Seen:
    """Which keys there were, in eight bytes each."""

    def __init__(self) -> None:
        self._sorted: list[npt.NDArray[np.uint64]] = []

    def repeats(self, keys: Sequence[str]) -> list[int]:
        """The places of keys that an earlier call had."""
        digests = b"".join(hashlib.blake2b(key.encode(), digest_size=8).digest() for key in keys)
        found: list[int] = np.flatnonzero(self.known(np.frombuffer(digests, np.uint64))).tolist()
        return found

    def known(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Which of the hashes an earlier call had."""
        known = np.zeros(len(hashes), bool)
        for chunk in self._sorted:
            places = np.minimum(np.searchsorted(chunk, hashes), len(chunk) - 1)
            known |= chunk[places] == hashes
        self._sorted.append(np.sort(hashes))
        if len(self._sorted) > 32:  # few enough to look through
            self._sorted = [np.sort(np.concatenate(self._sorted))]
        return known
