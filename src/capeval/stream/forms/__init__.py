"""The file forms of shards, one file each."""

from __future__ import annotations

from contextlib import AbstractContextManager

from capeval.errors import DataError
from capeval.io.files import format_from_name
from capeval.stream.folder import without_query
from capeval.stream.forms.base import Reader

FORMS = ".parquet, .jsonl, .csv, .tsv or .tar"


def form_of(path: str) -> str:
    name = without_query(path).lower()
    if name.endswith((".tar", ".tar.gz", ".tgz")):
        return "tar"
    form = format_from_name(name)
    if form not in ("parquet", "jsonl", "csv", "tsv"):
        raise DataError(f"shards are {FORMS} (.gz but for Parquet), by their name's ending", file=path)
    return form


def is_shard(path: str) -> bool:
    try:
        return bool(form_of(path))
    except DataError:
        return False


def opened_shard(path: str) -> AbstractContextManager[Reader]:
    """Reads a shard of any form."""
    form = form_of(path)
    if form == "parquet":
        from capeval.stream.forms.parquet import opened_parquet

        return opened_parquet(path)
    if form == "jsonl":
        from capeval.stream.forms.jsonl import opened_jsonl

        return opened_jsonl(path)
    if form == "tar":
        from capeval.stream.forms.tar import opened_tar

        return opened_tar(path)
    from capeval.stream.forms.csv import opened_csv

    return opened_csv(path)
