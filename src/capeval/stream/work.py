"""What is done with one shard, wherever it runs: files in, files and a small record out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from capeval.errors import CapevalError, DataError, UnknownName
from capeval.io.captions.blocks import Seen
from capeval.io.dftable import DfTable, read_table
from capeval.run import Run
from capeval.stream import counting
from capeval.stream.block import Block, image_hash
from capeval.stream.filters import Filter
from capeval.stream.folder import CannotWrite, Folder, Writing, facts_of, without_query
from capeval.stream.forms import opened_shard
from capeval.stream.forms.base import Reader, Rows, Writer
from capeval.stream.names import Names
from capeval.stream.scorer import Scorer, Scores
from capeval.stream.selecting import label_for, lookup_in
from capeval.stream.sums import Sums
from capeval.types import Array, Flags, Frequencies

STATE = ".capeval"
"""The folder, inside that of the scored shards, of what is needed to go on after a kill and to add shards."""
Report = Callable[[int], None]
"""Called with the number of rows that were done since the last call."""


@dataclass(frozen=True)
class Job:
    """All that decides what is done; plain values, so that it can be sent to another process as JSON."""

    metrics: tuple[str, ...]
    output: str
    references: tuple[str, ...] = ()
    images: str | None = None
    features: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    filter: str | None = None
    top: float | None = None
    by: str | None = None
    """The score that `top` goes by."""
    on_error: str = "skip"
    tokenizer: str = "ptb"
    threads: int = 1
    frequencies: Mapping[str, int] = field(default_factory=dict)
    """Orders of the n-grams that are counted over all shards, by `words` or `stems`."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        return cls(**json.loads(text))

    @property
    def names(self) -> Names:
        return Names(**self.columns)


def shard_name(path: str) -> str:
    return without_query(path).rpartition("/")[2]


def table_name(kind: str) -> str:
    return f"frequencies-{kind}.df"


def read_tables(job: Job, state: Folder) -> dict[bool, DfTable]:
    """The document frequencies of all shards, by whether they are those of stems."""
    found = {}
    for kind in job.frequencies:
        with state.local(table_name(kind)) as path:
            found[kind == "stems"] = read_table(path)
    return found


class Work:
    """Holds what every shard needs: models, tables, references. `tables` are document frequencies that are there."""

    def __init__(self, job: Job, tables: Mapping[bool, Frequencies] | None = None) -> None:
        self.job, self._tables = job, tables
        self.output = Folder(job.output)
        self.state = self.output.inside(STATE)
        self.run = Run(job.tokenizer, job.threads)
        self.filter = Filter(job.filter) if job.filter else None

    def do(self, step: str, path: str, report: Report, **more: Any) -> dict[str, Any]:
        """One step with one shard. What is wrong with the shard is said in the record."""
        steps: dict[str, Callable[..., dict[str, Any]]] = {
            "count": self.count, "recount": self.recount, "score": self.score, "write": self.write,
        }  # fmt: skip
        try:
            return steps[step](path, report, **more)
        except CapevalError as problem:
            return {
                "problem": str(problem),
                "message": problem.message,
                "remedy": problem.remedy,
                "stop": isinstance(problem, CannotWrite) or not isinstance(problem, DataError),
            }

    @cached_property
    def scorer(self) -> Scorer:
        tables = self._tables
        if tables is None and self.job.frequencies:
            tables = read_tables(self.job, self.state)
        return Scorer(
            self.job.metrics,
            references=self.job.references or None,
            images=self.job.images,
            features=self.job.features,
            frequencies=tables,
            run=self.run,
        )

    # Counting

    def count(self, path: str, report: Report) -> dict[str, Any]:
        """In how many reference sets of the shard each n-gram occurs."""
        return self._count(path, report, "counted", lambda hashes, known: ~known)

    def recount(self, path: str, report: Report) -> dict[str, Any]:
        """The same over the sets that an earlier shard has too."""
        again = self.state.read_array(f"{shard_name(path)}.again.npy")
        return self._count(path, report, "recounted", lambda hashes, known: ~known & np.isin(hashes, again))

    def _count(self, path: str, report: Report, what: str, wanted: Callable[[Any, Any], Any]) -> dict[str, Any]:
        name, seen, images = shard_name(path), Seen(), []
        tallies = {kind: counting.Tally(n) for kind, n in self.job.frequencies.items()}
        facts = facts_of(path)
        with opened_shard(path) as reader:
            names = self.job.names.found_in(reader.header, reader.binary, path)
            for rows in reader.blocks():
                block = self._references_of(rows, names, name)
                good = [i for i in range(len(block)) if i not in block.problems]
                joined = b"".join(image_hash(block.images[i], block.references[i]) for i in good)
                hashes = np.frombuffer(joined, np.uint64)
                _, first = np.unique(hashes, return_index=True)
                is_first = np.zeros(len(hashes), bool)
                is_first[first] = True
                new = is_first & wanted(hashes, seen.known(hashes))
                images.append(hashes[new])
                sets = [block.references[i] for i, own in zip(good, new) if own]
                for kind, n in self.job.frequencies.items():
                    tallies[kind].add(counting.count(sets, n, kind == "stems", self.run))
                report(len(rows))
        for kind, tally in tallies.items():
            counting.save(self.state, f"{name}.{what}-{kind}", tally.total())
        self.state.write_array(f"{name}.{what}-images.npy", np.sort(np.concatenate([*images, np.empty(0, np.uint64)])))
        return {"images": int(sum(map(len, images))), "source": facts}

    @cached_property
    def _reading(self) -> Scorer:
        """Only to read references: with any metric that compares with them."""
        return Scorer(["rouge_l"], references=self.job.references or None, run=self.run)

    def _references_of(self, rows: Rows, names: Names, shard: str) -> Block:
        return self._reading.block(rows, names, shard)

    # Scoring

    def score(self, path: str, report: Report) -> dict[str, Any]:
        """The scores of a shard: written with its rows, or kept apart until all are known and the best can be told."""
        name, sums, ranked = shard_name(path), Sums(self.scorer.selections), self.job.top is not None
        facts, read, written, failures = facts_of(path), 0, 0, list[dict[str, Any]]()
        place = self.state.writing(f"{name}.scores") if ranked else self.output.writing(name)
        with opened_shard(path) as reader:
            names = self.job.names.found_in(reader.header, reader.binary, path)
            with place as stream, closed_after(self._writer(reader, stream), stream) as writer:
                for rows in reader.blocks():
                    scores = self.scorer.score(self.scorer.block(rows, names, name))
                    self._note_failures(scores, rows, path, failures)
                    if scores.result is not None:
                        sums.add(scores.result)
                    keep = self._passing(rows, reader, scores)
                    writer.write(rows, scores.columns, keep)
                    read, written = read + len(rows), written + int(keep.sum())
                    report(len(rows))
                if read and not sums.n:
                    raise DataError(f"not one row can be scored. The first: {failures[0]['reason']}", file=path)
        sums.save(self.state, name)
        with self.state.writing(f"{name}.failures.jsonl") as lines:
            lines.write(b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in failures))
        record = {"source": facts, "rows": read, "failed": len(failures), "written": written, **sums.record()}
        return record | {"bytes": stream.size, "sha256": stream.sha256}

    def _writer(self, reader: Reader, stream: Writing) -> Writer:
        if self.job.top is None:
            return reader.writer(stream, self.scorer.labels)
        return _ScoreWriter(stream, self._rank_column())

    def _rank_column(self) -> int:
        labels = self.scorer.labels
        by = label_for(self.job.by, labels) if self.job.by else labels[0]
        if by is None:
            raise UnknownName("score to choose the best by", str(self.job.by), labels)
        return labels.index(by)

    def _note_failures(self, scores: Scores, rows: Rows, path: str, failures: list[dict[str, Any]]) -> None:
        for row, reason in scores.failures.items():
            if self.job.on_error == "fail":
                raise DataError(f"row {rows.begin + row} cannot be scored: {reason}", file=path, remedy="skip_rows")
            image = scores.block.images[row]
            failures.append({"shard": shard_name(path), "row": rows.begin + row, "image": image, "reason": reason})

    def _passing(self, rows: Rows, reader: Reader, scores: Scores) -> Flags:
        keep = np.ones(len(rows), bool)
        if self.filter is not None:
            keep = self.filter(lookup_in(rows, reader.header, scores), len(rows))
        keep[list(rows.broken)] = False
        return keep

    def write(self, path: str, report: Report, at_least: float) -> dict[str, Any]:
        """The rows of a shard whose score is high enough, with the scores that were kept."""
        name, labels = shard_name(path), self.scorer.labels
        kept = self.state.read_rows(f"{name}.scores", len(labels) + 1)
        written = 0
        with (
            opened_shard(path) as reader,
            self.output.writing(name) as stream,
            closed_after(reader.writer(stream, labels), stream) as writer,
        ):
            for rows in reader.blocks():
                part = np.asarray(kept[rows.begin : rows.begin + len(rows)])
                if len(part) < len(rows):
                    raise DataError("the shard has grown since it was scored. Score it again", file=path)
                with np.errstate(invalid="ignore"):
                    keep = part[:, -1] >= at_least
                writer.write(rows, dict(zip(labels, part.T)), keep)
                written += int(keep.sum())
                report(len(rows))
        return {"written": written, "bytes": stream.size, "sha256": stream.sha256, "at_least": at_least}


@contextmanager
def closed_after(writer: Writer, stream: Writing) -> Iterator[Writer]:
    """Closes a writer, also where its file is given up: some write when they are closed, and some when they go."""
    try:
        yield writer
    except BaseException:
        stream.give_up()
        with suppress(Exception):
            writer.close()
        raise
    writer.close()


class _ScoreWriter:
    """Scores that wait until it is known which are the best: for each row all of them, and the one it is ranked by."""

    def __init__(self, stream: Writing, by: int) -> None:
        self._stream, self._by = stream, by

    def write(self, rows: Rows, scores: Mapping[str, Array], keep: Flags) -> None:
        columns = list(scores.values())
        columns.append(np.where(keep, columns[self._by], np.nan))
        self._stream.write(np.ascontiguousarray(np.column_stack(columns), "<f8"))

    def close(self) -> None:
        pass
