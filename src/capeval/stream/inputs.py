"""What a job is given: the shards that a path names, and what there is for metrics beside captions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import cast

from capeval.errors import DataError
from capeval.registry import parse_all
from capeval.run import Run
from capeval.stream.folder import expanded
from capeval.stream.forms import FORMS, form_of, is_shard, opened_shard
from capeval.stream.scorer import fitting
from capeval.stream.work import Job


def listed(path: str) -> list[str]:
    """The shards of a folder, among whatever else lies there, or of a pattern; else the path."""
    found = expanded(path)
    if found == [path] or any(sign in path for sign in "*["):
        return found
    shards = [each for each in found if is_shard(each)]
    forms = sorted({form_of(each) for each in shards})
    if not shards:
        raise DataError(f"there are no shards in this folder: {FORMS}", file=path)
    if len(forms) > 1:
        several = " and ".join(forms)
        raise DataError(
            f"shards of several forms lie here, {several}. Name those to score: {path}/*.{forms[-1]}", file=path
        )
    return shards


def fitted(job: Job, paths: list[str], run: Run) -> Job:
    """With what metrics are where there are no references, or no pictures, in place of those that need them.

    What there is goes by files that are given and by the columns of the first shard that can be read.
    """
    metrics = [each.metric for each in parse_all(job.metrics)]
    if not any(each.for_inputs(*has) for each in metrics for has in ((True, False), (False, True), (False, False))):
        return job
    references, pictures = bool(job.references), bool(job.images or job.features)
    for path in paths:
        with suppress(DataError), opened_shard(path) as reader:
            names = job.names.found_in(reader.header, reader.binary, path)
            references, pictures = references or bool(names.references), pictures or bool(names.picture)
            break
    return replace(job, metrics=tuple(cast(list[str], fitting(job.metrics, references, pictures, run))))
