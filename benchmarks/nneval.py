"""NNEval of captions whose features exist already: what the metric itself costs beside its eight metrics.

    python benchmarks/nneval.py [--captions 20000] [--repeat 5]

Captions are those of COCO val2014, from the annotations inside the installed pycocoevalcap package: four different
candidates for each picture, and five references. The eight metrics are scored first, once; then NNEval, several times,
of a corpus that has their statistics. The best of the repeats counts; seconds are those of the process's own work, so
that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import time

from coco import annotations
from common import machine, markdown, write

from capeval.corpus import Corpus
from capeval.metrics.nneval import Nneval
from capeval.registry import complete
from capeval.run import Run
from capeval.types import Dataset, Sample

REFERENCES, CANDIDATES = 5, 4


def dataset(texts: list[str], count: int) -> Dataset:
    given = [texts[count + i * REFERENCES : count + (i + 1) * REFERENCES] for i in range(count // CANDIDATES)]
    return Dataset.from_samples(
        [Sample(f"{i}", f"{i // CANDIDATES}", texts[i], tuple(given[i // CANDIDATES])) for i in range(count)]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    line = machine()
    data = dataset(list(dict.fromkeys(row["caption"] for row in annotations()["annotations"])), options.captions)
    metric = complete(Nneval())
    assert isinstance(metric, Nneval)
    corpus = Corpus(data, Run(threads=1))
    begin = time.process_time()
    for part, _ in metric.parts:
        corpus.stats(part)
    before = time.process_time() - begin
    taken = []
    for _ in range(options.repeat):
        begin = time.process_time()
        metric.stats(corpus)
        taken.append(time.process_time() - begin)
    rows = [
        ["the eight metrics, tokenising included", f"{before:.2f}", f"{len(data) / before:,.0f}"],
        ["nneval, once they are there", f"{min(taken):.3f}", f"{len(data) / min(taken):,.0f}"],
    ]
    command = f"python benchmarks/nneval.py --captions {options.captions} --repeat {options.repeat}"
    about = f"{len(data):,} captions of COCO val2014 with {REFERENCES} references each, one thread"
    header = ["", "CPU seconds", "captions/s"]
    write("nneval.md", f"# NNEval\n\nMade by `{command}`. {line}. {about}.\n\n" + markdown(header, rows))


if __name__ == "__main__":
    main()
