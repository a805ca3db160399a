"""All shards of a job: what is left to do is done by a runner, and a manifest says what came out.

Everything that a step leaves is keyed by its shard and written whole or not at all, so a job that was killed goes on
where it stopped, and a step that was done twice has done no harm.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from capeval.documents import ScoreDocument, as_dict
from capeval.errors import CapevalError, DataError, UnknownName, with_advice
from capeval.io.dftable import write_table
from capeval.io.locks import locked
from capeval.registry import label, parse_all
from capeval.run import Run
from capeval.stream import counting
from capeval.stream.filters import Filter
from capeval.stream.folder import Folder, facts_of, is_address
from capeval.stream.forms import form_of
from capeval.stream.forms.guess import row_count
from capeval.stream.inputs import fitted, listed
from capeval.stream.selecting import label_for, threshold
from capeval.stream.sums import document
from capeval.stream.work import STATE, Job, Report, read_tables, shard_name, table_name
from capeval.types import Frequencies
from capeval.version import __version__

MANIFEST, FAILURES = "manifest.json", "failures.jsonl"
GO_ON = "Shards that are complete stay; the same command goes on with the others"
_SHOWN = 100  # failures that the manifest itself has
Record = dict[str, Any]
Item = tuple[str, dict[str, Any]]
"""A shard, and what a step must know beside it."""


class Runner(Protocol):
    """Does a step with each of some shards, in any order and at once, and hands the records on as they come."""

    def run(
        self, job: Job, step: str, items: Sequence[Item], report: Report, tables: Mapping[bool, Frequencies] | None
    ) -> Iterator[tuple[str, Record]]: ...


@dataclass(frozen=True)
class Done:
    """What a job has made."""

    document: ScoreDocument
    manifest: dict[str, Any]
    problems: list[str]
    """What is wrong with shards that were left out."""


def score_shards(
    shards: Iterable[str], job: Job, runner: Runner, run: Run | None = None, *, resamples: int = 1000, seed: int = 0
) -> Done:
    """Scores shards into a folder. A folder that has some of them already gets the others."""
    run = run or Run(job.tokenizer)
    paths = _checked(shards, job)
    job = fitted(job, paths, run)
    _check_wishes(job)
    job = replace(job, frequencies=_frequencies(job))
    output = Folder(job.output)
    output.make()
    state = output.inside(STATE)
    state.make()
    with _alone_with(job.output, state):
        _clear(output, state)
        done = _All(job, paths, runner, run, output, state).done(resamples, seed)
        _clear(output, state)  # of workers that were lost
        return done


def _clear(*folders: Folder) -> None:
    for folder in folders:
        folder.remove_leftovers()


def _checked(shards: Iterable[str], job: Job) -> list[str]:
    """The shards, by name."""
    paths = [each for path in shards for each in listed(os.fspath(path))]
    if not paths:
        raise DataError("there are no shards to score")
    known: dict[str, str] = {}
    for path in paths:
        form_of(path)
        if shard_name(path) == FAILURES:
            raise DataError("rows that fail are listed under that name. Give the shard another one", file=path)
        if (other := known.setdefault(shard_name(path), path)) != path:
            raise DataError(f"two shards have the same name: {other} and {path}. Score them into two folders")
        if facts_of(path) is None:
            raise DataError("there is no such file", file=path)
        if not is_address(path) and os.path.realpath(os.path.dirname(path)) == os.path.realpath(job.output):
            raise DataError("scored shards would be written over those that are read. Name another folder", file=path)
    return sorted(known.values(), key=shard_name)


def _check_wishes(job: Job) -> None:
    """What is wrong with the job shows before rows are read."""
    labels = [label(each.metric, name) for each in parse_all(job.metrics) for name in each.names]
    if job.filter:
        Filter(job.filter)
    if job.by is not None and label_for(job.by, labels) is None:
        raise UnknownName("score to choose the best by", job.by, labels)
    if job.top is not None and not 0 < job.top <= 1:
        raise CapevalError(f"top is {job.top}; it is a share, above 0 and no more than 1")


def _frequencies(job: Job) -> dict[str, int]:
    wanted = counting.orders_wanted(each.metric for each in parse_all(job.metrics))
    return {"stems" if stem else "words": n for stem, n in sorted(wanted.items())}


@contextmanager
def _alone_with(path: str, state: Folder) -> Iterator[None]:
    """Two that write into one folder would do the work twice."""
    if is_address(path):
        yield
        return
    with locked(Path(path, STATE, "job"), wait=False):
        yield


class _All:
    def __init__(self, job: Job, paths: list[str], runner: Runner, run: Run, output: Folder, state: Folder) -> None:
        self.job, self.paths, self.runner, self.run = job, paths, runner, run
        self.output, self.state = output, state
        self.selections = parse_all(job.metrics)
        self.problems: dict[str, str] = {}
        self._first_problem: Record = {}

    def done(self, resamples: int, seed: int) -> Done:
        tables = self._count() if self.job.frequencies else None
        key = self._key(tables)
        records = self._score(key, tables)
        if self.problems and not any(record["n"] for record in records.values()):
            wrong = self._first_problem
            told = f"no shard could be scored, of {len(self.paths):,}. The first: {wrong['message']}"
            raise DataError(told, remedy=wrong["remedy"])
        top = self._best(key, records) if self.job.top is not None else None
        found = document(self.selections, records, self.state, self.job.tokenizer, resamples=resamples, seed=seed)
        manifest = self._manifest(found, records, top)
        self.output.write_json(MANIFEST, manifest)
        return Done(found, manifest, [*self.problems.values()])

    # Which work is left

    def _key(self, tables: Mapping[bool, Frequencies] | None) -> str:
        """Tells what decides a shard's scores and rows from everything else that may be asked of it."""
        settings = asdict(self.job)
        for name in ("output", "on_error", "threads", "top"):
            del settings[name]
        ranked = self.job.top is not None  # scores are kept apart then; how many are the best does not matter to them
        settings["by"] = (self.job.by or "first") if ranked else None
        files = [*self.job.references, *([self.job.features] if self.job.features else [])]
        decides = (
            __version__, settings, [facts_of(path) for path in files],
            [dict(each.metric.signature_extras(self.run)) for each in self.selections],
            [each.metric.info.revision for each in self.selections],
            {str(stem): table.digest for stem, table in (tables or {}).items()},
        )  # fmt: skip
        return hashlib.sha256(json.dumps(decides, sort_keys=True, default=str).encode()).hexdigest()[:32]

    def _run(
        self, step: str, what: str, items: Sequence[Item], tables: Mapping[bool, Frequencies] | None = None
    ) -> Iterator[tuple[str, Record]]:
        """The records of a step as they come. A shard that is at fault is noted, or stops the job."""
        if not items:
            return
        rows = 0
        total = row_count([path for path, _ in items]) or None
        with self.run.progress.bar(f"{what} {len(items)} of {len(self.paths)} shards", total, "rows") as show:

            def report(done: int) -> None:
                nonlocal rows
                rows += done
                show(rows)

            for path, record in self.runner.run(self.job, step, items, report, tables):
                if "problem" not in record:
                    yield path, record
                    continue
                if record["stop"] or self.job.on_error == "fail":
                    raise DataError(with_advice(record["message"], GO_ON), remedy=record["remedy"])
                self.problems[path] = record["problem"]
                self._first_problem = self._first_problem or record

    def _score(self, key: str, tables: Mapping[bool, Frequencies] | None) -> dict[str, Record]:
        records, left = {}, list[Item]()
        for path in self.paths:
            record = self.state.read_json(f"{shard_name(path)}.json")
            if self._is_done(record, key, path):
                records[path] = record
            elif path not in self.problems:
                left.append((path, {}))
        if records and left:
            self.run.progress.note(f"{len(records)} of {len(self.paths)} shards are scored already")
        for path, record in self._run("score", "scoring", left, tables):
            records[path] = {"key": key} | record
            self.state.write_json(f"{shard_name(path)}.json", records[path])
        return {shard_name(path): records[path] for path in self.paths if path in records}

    def _is_done(self, record: Any, key: str, path: str) -> bool:
        if not isinstance(record, dict) or record.get("key") != key or record.get("source") != facts_of(path):
            return False
        place, name = self.output, shard_name(path)
        if self.job.top is not None:
            place, name = self.state, f"{name}.scores"
        facts = place.facts(name)
        return facts is not None and facts[0] == record.get("bytes")

    # Document frequencies

    def _count(self) -> dict[bool, Frequencies]:
        """Counted once for these shards, and kept as tables."""
        names = {shard_name(path): path for path in self.paths}
        decides = [
            __version__, dict(self.job.frequencies), self.job.tokenizer, dict(self.job.columns),
            [facts_of(path) for path in self.job.references], {name: facts_of(path) for name, path in names.items()},
        ]  # fmt: skip
        key = hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:32]
        known = self.state.read_json("frequencies.json") or {}
        if known.get("key") != key:
            counted, left = {}, list[Item]()
            for name, path in names.items():
                record = self.state.read_json(f"{name}.counted.json")
                if isinstance(record, dict) and record.get("key") == key:
                    counted[name] = record
                else:
                    left.append((path, {}))
            for path, record in self._run("count", "counting n-grams in", left):
                counted[shard_name(path)] = {"key": key} | record
                self.state.write_json(f"{shard_name(path)}.counted.json", counted[shard_name(path)])
            self._add_up([name for name in names if name in counted], names, key)
        return dict(read_tables(self.job, self.state))

    def _add_up(self, names: Sequence[str], paths: Mapping[str, str], key: str) -> None:
        again = counting.seen_before(self.state, [f"{name}.counted-images.npy" for name in names])
        repeated = [(name, hashes) for name, hashes in zip(names, again) if len(hashes)]
        for name, hashes in repeated:
            self.state.write_array(f"{name}.again.npy", hashes)
        for _ in self._run("recount", "counting again in", [(paths[name], {}) for name, _ in repeated]):
            pass
        images = sum(len(self.state.read_array(f"{name}.counted-images.npy")) for name in names)
        images -= sum(len(hashes) for _, hashes in repeated)
        self.run.progress.step("adding up document frequencies")
        for kind, n in self.job.frequencies.items():
            tally = counting.Tally(n)
            for name in names:
                counted = counting.load(self.state, f"{name}.counted-{kind}")
                if name in dict(repeated):
                    counted = counting.taken_back(counted, counting.load(self.state, f"{name}.recounted-{kind}"))
                tally.add(counted)
            table = counting.table_of(tally.total(), images, n, kind == "stems", self.job.tokenizer)
            with tempfile.TemporaryDirectory() as place:
                path = Path(place, table_name(kind))
                write_table(path, table)
                with self.state.writing(table_name(kind)) as stream:
                    stream.write(path.read_bytes())
        self.state.write_json("frequencies.json", {"key": key, "images": images})
        for name in names:
            for kind in self.job.frequencies:
                for what in ("counted", "recounted"):
                    counting.delete(self.state, f"{name}.{what}-{kind}")
            for ending in ("counted-images.npy", "recounted-images.npy", "again.npy", "counted.json"):
                self.state.delete(f"{name}.{ending}")

    # The best

    def _best(self, key: str, records: Mapping[str, Record]) -> dict[str, Any]:
        """Writes the rows that are among the best share, by the exact threshold."""
        assert self.job.top is not None
        labels = [name for each in self.selections for name in (label(each.metric, score) for score in each.names)]
        ranks = _Ranks(self.state, list(records), len(labels) + 1)
        at_least, count = threshold(ranks, self.job.top)
        left = []
        for path in self.paths:
            name = shard_name(path)
            if name not in records:
                continue
            record = self.state.read_json(f"{name}.written.json")
            facts = self.output.facts(name)
            same = isinstance(record, dict) and (record["key"], record["at_least"]) == (key, at_least)
            if same and record["source"] == facts_of(path) and facts is not None and facts[0] == record["bytes"]:
                records[name].update({part: record[part] for part in ("written", "bytes", "sha256")})
            else:
                left.append((path, {"at_least": at_least}))
        for path, record in self._run("write", "writing", left):
            name = shard_name(path)
            known = {"key": key, "source": records[name]["source"], **record}
            self.state.write_json(f"{name}.written.json", known)
            records[name].update({part: record[part] for part in ("written", "bytes", "sha256")})
        by = label_for(self.job.by, labels) if self.job.by else labels[0]
        return {"share": self.job.top, "by": by, "at_least": at_least if count else None, "of": count}

    # The manifest

    def _manifest(
        self, found: ScoreDocument, records: Mapping[str, Record], top: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Nothing in it depends on when, where or how often the job was run."""
        sources = {shard_name(path): path for path in self.paths}
        reasons: Counter[str] = Counter()
        first: list[dict[str, Any]] = []
        with self.output.writing(FAILURES) as stream:
            for name, record in records.items():
                if not record["failed"]:
                    continue
                with self.state.local(f"{name}.failures.jsonl") as path, open(path, "rb") as lines:
                    for line in lines:
                        stream.write(line)
                        failure = json.loads(line)
                        reasons[failure["reason"]] += 1
                        if len(first) < _SHOWN:
                            first.append(failure)
        shards = [
            {
                "name": name,
                "source": sources[name],
                "rows": record["rows"],
                "scored": record["n"],
                "failed": record["failed"],
                "written": record["written"],
                "bytes": record["bytes"],
                "sha256": record["sha256"],
            }
            for name, record in records.items()
        ]
        counts = {each: sum(shard[each] for shard in shards) for each in ("rows", "scored", "failed", "written")}
        return {
            "schema": "capeval.stream/1",
            "capeval": __version__,
            **{key: value for key, value in as_dict(found).items() if key not in ("schema", "command")},
            "rows": {"read": counts.pop("rows"), **counts},
            "filter": self.job.filter,
            "top": top,
            "failures": {
                "count": counts["failed"],
                "reasons": dict(sorted(reasons.items(), key=lambda each: (-each[1], each[0]))[:_SHOWN]),
                "first": first,
            },
            "problems": [{"source": path, "problem": self.problems[path]} for path in sorted(self.problems)],
            "shards": shards,
        }


class _Ranks:
    """The score that each row is ranked by, shard after shard, again and again."""

    def __init__(self, state: Folder, names: Sequence[str], width: int) -> None:
        self._state, self._names, self._width = state, names, width

    def __iter__(self) -> Iterator[Any]:
        return (self._state.read_rows(f"{name}.scores", self._width)[:, -1] for name in self._names)
