"""Shards in Parquet, and Arrow batches as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from capeval.errors import DataError
from capeval.io.files import import_pyarrow
from capeval.stream.folder import Writing, open_input
from capeval.stream.forms.base import BLOCK_BYTES, BLOCK_ROWS, refuse_repeated
from capeval.types import Array, Flags


class ArrowRows:
    """A record batch, or a table."""

    broken: Mapping[int, str] = {}

    def __init__(self, batch: Any, begin: int = 0) -> None:
        self.batch, self.begin = batch, begin

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def column(self, name: str) -> Sequence[Any]:
        return values_of(self.batch.column(name))


def values_of(array: Any) -> list[Any]:
    """Python values of an Arrow array. Lists are taken apart at once, which is many times faster than one by one."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # of no chunks, or of too many to be one
            return [value for chunk in array.chunks for value in values_of(chunk)]
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        found: list[Any] = array.to_pylist()
        return found
    items, offsets = array.values.to_pylist(), array.offsets.to_pylist()
    lists = [items[begin:end] for begin, end in pairwise(offsets)]
    if array.null_count:
        there = array.is_valid().to_pylist()
        return [each if known else None for each, known in zip(lists, there)]
    return lists


def binary_columns(schema: Any) -> frozenset[str]:
    """Those with bytes, or with objects of bytes and a path as Hugging Face's `Image`."""
    import pyarrow as pa

    def holds_bytes(kind: Any) -> bool:
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_struct(kind))

    return frozenset(field.name for field in schema if holds_bytes(field.type))


def with_scores(batch: Any, scores: Mapping[str, Array]) -> Any:
    """The batch with a column for each score."""
    import pyarrow as pa

    refuse_repeated(batch.schema.names, list(scores), "the rows")
    columns = [pa.array(values, pa.float64(), from_pandas=True) for values in scores.values()]
    return type(batch).from_arrays([*batch.columns, *columns], schema=grown(batch.schema, list(scores)))


def grown(schema: Any, labels: Sequence[str]) -> Any:
    """With a column for each score. What Hugging Face says of the columns would no longer be true of all."""
    import pyarrow as pa

    known = {key: value for key, value in (schema.metadata or {}).items() if key != b"huggingface"}
    fields = [*schema, *(pa.field(name, pa.float64()) for name in labels)]
    return pa.schema(fields, metadata=known or None)


class ParquetReader:
    def __init__(self, path: str, file: Any) -> None:
        self.path, self.file = path, file
        self.schema = file.schema_arrow
        self.header: list[str] = list(self.schema.names)
        repeated = sorted({name for name in self.header if self.header.count(name) > 1})
        if repeated:
            raise DataError(f"two columns have the same name: {', '.join(repeated)}", file=path)
        self.binary = binary_columns(self.schema)

    def blocks(self) -> Iterator[ArrowRows]:
        begin = 0
        with _explained(self.path):
            for batch in self.file.iter_batches(self._block_rows(), use_threads=False):
                yield ArrowRows(batch, begin)
                begin += batch.num_rows
        if begin != self.file.metadata.num_rows:
            raise DataError(f"{begin} rows could be read of {self.file.metadata.num_rows}", file=self.path)

    def _block_rows(self) -> int:
        facts = self.file.metadata
        size = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
        return int(min(BLOCK_ROWS, max(1, BLOCK_BYTES * max(1, facts.num_rows) // max(1, size))))

    def writer(self, stream: Writing, labels: Sequence[str]) -> ParquetWriter:
        refuse_repeated(self.header, labels, self.path)
        facts = self.file.metadata
        packed = facts.row_group(0).column(0).compression if facts.num_row_groups and facts.num_columns else "SNAPPY"
        return ParquetWriter(stream, grown(self.schema, labels), self.header, packed)


class ParquetWriter:
    """As the shard was compressed; a row group has the rows of one block or of several."""

    _GROUP_ROWS = 100_000

    def __init__(self, stream: Writing, schema: Any, header: Sequence[str], compression: str) -> None:
        _, parquet = import_pyarrow()
        known = compression.lower() if compression in ("SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4") else "none"
        # Scores are all different: a dictionary of them would be made in vain.
        self._file = parquet.ParquetWriter(stream, schema, compression=known, use_dictionary=list(header))
        self._waiting: list[Any] = []
        self._rows, self._size = 0, 0

    def write(self, rows: ArrowRows, scores: Mapping[str, Array], keep: Flags) -> None:
        import pyarrow as pa

        batch = with_scores(rows.batch, scores)
        if not keep.all():
            batch = batch.filter(pa.array(keep))
        self._waiting.append(batch)
        self._rows, self._size = self._rows + batch.num_rows, self._size + batch.get_total_buffer_size()
        if self._rows >= self._GROUP_ROWS or self._size >= 2 * BLOCK_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._file.write_table(pa.Table.from_batches(self._waiting), row_group_size=self._rows)
        self._waiting, self._rows, self._size = [], 0, 0

    def close(self) -> None:
        self._flush()
        self._file.close()


@contextmanager
def _explained(path: str) -> Iterator[None]:
    arrow, _ = import_pyarrow()
    try:
        yield
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise DataError(f"not a readable Parquet file: {str(problem).splitlines()[0]}", file=path) from problem


@contextmanager
def opened_parquet(path: str) -> Iterator[ParquetReader]:
    _, parquet = import_pyarrow()
    with open_input(path) as stream:
        with _explained(path):
            file = parquet.ParquetFile(stream)
        yield ParquetReader(path, file)
