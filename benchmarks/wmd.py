"""WMD: capeval against POT (Python Optimal Transport), same vectors, same pairs, in one process.

    python benchmarks/wmd.py CAPTIONS [--pairs 20000] [--repeat 3]

CAPTIONS is a JSON list of {"candidate": text, "references": [text, ...]}, which may be packed with gzip. Nothing is
installed; without POT (pip install POT) the benchmark says so and stops.

Both sides start from captions tokenised and counted. POT gets its vectors looked up beforehand, capeval looks them up
within its time. Of several runs the fastest counts, on both sides. POT has no references to skip, so its best reference
costs all of them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import machine, markdown, write

from capeval import engine
from capeval.corpus import Corpus
from capeval.io.files import read_bytes
from capeval.metrics.wmd import Bags, Wmd
from capeval.types import Dataset, Sample


def corpus_of(rows: list[tuple[str, tuple[str, ...]]], threads: int) -> Corpus:
    samples = [Sample(str(i), str(i), candidate, references) for i, (candidate, references) in enumerate(rows)]
    corpus = Corpus(Dataset.from_samples(samples), "ptb", threads)
    _ = corpus.words  # tokenised now, not within the time
    return corpus


def ours(rows: list[tuple[str, tuple[str, ...]]], threads: int, repeat: int) -> tuple[float, Any]:
    """The best of several runs, each with a corpus that remembers nothing, and the similarities."""
    runs = []
    for _ in range(repeat):
        corpus = corpus_of(rows, threads)
        start = time.perf_counter()
        stats = Wmd().stats(corpus)
        runs.append(time.perf_counter() - start)
    return min(runs), stats[:, 0]


def theirs(rows: list[tuple[str, tuple[str, ...]]]) -> tuple[float, float, Any]:
    """Seconds for distances and transport, seconds for transport alone, and the similarities."""
    import ot

    corpus = corpus_of(rows, 1)
    bags = Wmd()._bags(corpus)
    problems = [
        [weighted(bags, caption), weighted(bags, reference), row]
        for row, (caption, group) in enumerate(zip(corpus.rows.candidate, corpus.rows.group, strict=True))
        for reference in references_of(corpus, group)
    ]
    problems = [(a, b, row) for a, b, row in problems if len(a[0]) and len(b[0])]
    seconds, costs = timed(lambda: [ot.dist(a[0], b[0], metric="euclidean") for a, b, _ in problems])
    solving, distances = timed(lambda: [ot.emd2(a[1], b[1], cost) for (a, b, _), cost in zip(problems, costs)])
    similar = np.zeros(len(rows))
    for (_, _, row), distance in zip(problems, distances, strict=True):
        similar[row] = max(similar[row], math.exp(-distance))
    return seconds + solving, solving, similar


def references_of(corpus: Corpus, group: int) -> list[int]:
    first, last = corpus.rows.group_offsets[group : group + 2]
    return corpus.rows.group_captions[first:last].tolist()


def weighted(bags: Bags, caption: int) -> tuple[Any, Any]:
    span = slice(bags.offsets[caption], bags.offsets[caption + 1])
    counts = bags.counts[span]
    return bags.vectors[bags.ids[span]].astype(np.float64), counts / max(1, counts.sum())


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captions", type=Path)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    if importlib.util.find_spec("ot") is None:
        sys.exit("this benchmark needs its peer: pip install POT")
    header = machine()
    captions = [(row["candidate"], tuple(row["references"])) for row in json.loads(read_bytes(arguments.captions))]
    pairs = [(candidate, (each,)) for candidate, references in captions for each in references][: arguments.pairs]
    table = []
    for task, rows in (("each pair", pairs), ("best reference", captions)):
        total, solving, expected = min((theirs(rows) for _ in range(arguments.repeat)), key=lambda run: run[0])
        problems = sum(len(references) for _, references in rows)
        name = f"{task}: {len(rows):,} captions, {problems:,} pairs"
        table.append([name, "POT, distances and transport", f"{total:.2f}", f"{problems / total:,.0f}", "1", ""])
        table.append([name, "POT, transport alone", f"{solving:.2f}", f"{problems / solving:,.0f}", "", ""])
        for threads in (1, 2):
            seconds, found = ours(rows, threads, arguments.repeat)
            gap = np.abs(found - expected).max()
            speed = [f"{seconds:.3f}", f"{problems / seconds:,.0f}", f"{total / seconds:.0f}", f"{gap:.0e}"]
            table.append([name, f"capeval, {threads} thread{'s' * (threads > 1)}", *speed])
    columns = ["task", "", "seconds", "pairs a second", "times as fast as POT", "largest difference"]
    version = importlib.metadata.version("POT")
    text = f"# WMD\n\n{header}. POT {version}, capeval's {engine.active()} engine, vectors glove-100d.\n\n"
    write("wmd.md", text + markdown(columns, table))


if __name__ == "__main__":
    main()
