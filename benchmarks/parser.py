"""The fast parser, from tokenised captions to tuples: against its network in torch, and against the exact parser.

    pip install torch
    python benchmarks/parser.py [--captions 20000] [--repeat 3]

Captions are those of COCO val2014, from the annotations inside the installed pycocoevalcap package, no two alike. The
torch model has the same sizes and random weights, reads captions of one length together and stops at the best tags,
heads and labels: no trees, no tuples. The exact parser of `spice` reads the first 2,000 captions, if its grammar is
there (`capeval data import spice-grammar FILE`). They take turns; the best of the repeats counts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import deque
from collections.abc import Callable

from coco import annotations
from common import machine, markdown, write

from capeval.run import Run
from capeval.scene import default_parser, graph_of, trees_of, tuples_of_graph
from capeval.scene.fast import fast_parser
from capeval.scene.fast.words import BUCKETS, glove_vectors, spelling_features
from capeval.text.tokenize import tokenize

BATCH = 256
EXACT = 2000


def with_fast_parser(captions: list[str], threads: int) -> None:
    deque(fast_parser().tuples(captions, Run(threads=threads)), maxlen=0)


def with_exact_parser(captions: list[str], threads: int) -> None:
    for tree in trees_of(captions[:EXACT], Run(threads=threads)):
        tuples_of_graph(graph_of(tree))


def with_torch() -> Callable[[list[str], int], None]:
    import torch

    from capeval.models.parser import ParserNet

    weights = fast_parser().weights
    parts = len(weights.network["label"])
    net = ParserNet(
        vocabulary=len(weights.vocabulary) + 1,
        buckets=BUCKETS,
        glove=100,
        tags=len(weights.tags),
        labels=len(weights.labels),
        width=weights.words["word"].shape[1],
        hidden=weights.network["hidden1"].shape[1],
        arcs=len(weights.network["root"]) - parts,
        parts=parts,
        dropout=0.0,
    ).eval()

    def parse(captions: list[str], threads: int) -> None:
        torch.set_num_threads(threads)
        split = sorted((caption.split(" ") for caption in captions), key=len)
        words = list(dict.fromkeys(word for caption in split for word in caption))
        number = {word: i for i, word in enumerate(words)}
        own = torch.tensor([weights.vocabulary.get(word, 0) for word in words])
        spelling = torch.tensor([spelling_features(word) for word in words])
        glove = torch.from_numpy(glove_vectors(words))
        begin = 0
        with torch.inference_mode():
            while begin < len(split):
                length = len(split[begin])
                end = begin + 1
                while end < len(split) and end - begin < BATCH and len(split[end]) == length:
                    end += 1
                tokens = torch.tensor([[number[word] for word in caption] for caption in split[begin:end]])
                scores = net(own[tokens], spelling[tokens], glove[tokens])
                scores.tags.argmax(-1).numpy()
                net.labels(scores, scores.heads.argmax(-1)).argmax(-1).numpy()
                begin = end

    return parse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    line = machine()
    texts = list(dict.fromkeys(row["caption"] for row in annotations()["annotations"]))[: options.captions]
    captions = list(dict.fromkeys(" ".join(words) for words in tokenize(texts) if words))
    works = {"the network in torch": with_torch(), "fast parser": with_fast_parser}
    if default_parser() == "official":
        works = {"exact parser": with_exact_parser} | works
    rows = []
    for threads in sorted({1, os.cpu_count() or 1}):
        speeds: dict[str, list[float]] = {name: [] for name in works}
        for work in works.values():
            work(captions[:500], threads)  # what is loaded once is not measured
        for _ in range(options.repeat):
            for name, work in works.items():
                start = time.perf_counter()
                work(captions, threads)
                count = min(len(captions), EXACT) if name == "exact parser" else len(captions)
                speeds[name].append(count / (time.perf_counter() - start))
        ours = max(speeds["fast parser"])
        for name, found in speeds.items():
            ratio = f"{ours / max(found):.1f}" if name != "fast parser" else ""
            rows.append([threads, name, f"{max(found):,.0f}", f"{min(found):,.0f}", ratio])
    command = f"python benchmarks/parser.py --captions {options.captions} --repeat {options.repeat}"
    tokens = sum(caption.count(" ") + 1 for caption in captions) / len(captions)
    about = f"{len(captions):,} different tokenised captions of COCO val2014, {tokens:.1f} tokens each"
    text = f"# The fast parser\n\nMade by `{command}`. {line}. {about}.\n\n"
    header = ["threads", "", "captions/s, best", "worst", "times slower than the fast parser"]
    write("parser.md", text + markdown(header, rows))


if __name__ == "__main__":
    main()
