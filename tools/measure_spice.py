"""How close our SPICE is to the official one: writes docs/measured/spice.md.

    python tools/measure_spice.py [--data ../shared] [--parses 2000] [--sets coco_1k,coco_5k]

Two tables: for captions with official parses, the share whose tree, basic dependencies, graph, lemmas and tuples are
identical; for sets with official scores, the whole pipeline from tokenised captions to scores. `--parses` takes that
many captions of each file (0: all).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from capeval.evaluate import evaluate
from capeval.run import Run
from capeval.scene import graph_of, trees_of, tuples_of_graph
from capeval.scene.official.dependencies import basic_dependencies
from capeval.scene.official.tree import read_tree
from capeval.types import Dataset

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measured" / "spice.md"
LAYERS = ("tree", "tags", "basic", "graph", "lemmas", "tuples")
TEXT = """# SPICE: how close to the official tool

Made by `python tools/measure_spice.py`. The golden sets are official outputs: `spice-1.0.jar` with CoreNLP 3.6.0.

Share of captions that are identical, from tokenised captions, each layer on top of our own layers below it:

{parses}
Whole pipeline, tokenised captions in, scores out, against the official scores:

{scores}
"""


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def layers_of(caption: str, tree: str, official: dict[str, Any]) -> dict[str, bool]:
    sentences = official["sentences"]
    if len(sentences) != 1 or not tree:
        return dict.fromkeys(LAYERS, not sentences and not tree)
    (theirs,) = sentences
    parsed, graph = read_tree(tree), graph_of(tree)
    edges = sorted((e.head, e.dependent, e.relation, e.shared) for e in graph.edges)
    wanted = sorted((h, d, r, bool(rest)) for h, d, r, *rest in theirs["edges"])
    ours = [tuple(each) for each in tuples_of_graph(graph)]
    return {
        "tree": tree == theirs["tree"],
        "tags": [t.tag for t in graph.tokens] == [tag for _, tag, _ in theirs["tokens"]],
        "basic": sorted(basic_dependencies(parsed)) == sorted(tuple(each) for each in theirs["basic"]),
        "graph": edges == wanted and list(graph.roots) == theirs["roots"],
        "lemmas": [t.lemma for t in graph.tokens] == [lemma for _, _, lemma in theirs["tokens"]],
        "tuples": sorted(ours) == sorted(tuple(each) for each in official["tuples"]),
    }


def measure_parses(path: Path, limit: int, threads: int) -> list[object]:
    rows = list(rows_of(path))
    rows = rows[:: max(1, len(rows) // limit)] if limit else rows
    start = time.perf_counter()
    trees = trees_of([row["caption"] for row in rows], Run(threads=threads))
    seconds = time.perf_counter() - start
    found = [layers_of(row["caption"], tree, row) for row, tree in zip(rows, trees, strict=True)]
    shares = [f"{100 * sum(each[layer] for each in found) / len(found):.2f}" for layer in LAYERS]
    name = path.name.removeprefix("parses_").removesuffix(".jsonl.gz")
    return [name, f"{len(rows):,}", *shares, f"{len(rows) / seconds:.0f}"]


def measure_scores(path: Path, threads: int) -> list[object]:
    rows = list(rows_of(path))
    sets: dict[tuple[str, ...], int] = {}
    group = [sets.setdefault(tuple(row["refs"]), len(sets)) for row in rows]
    ids = [str(row["id"]) for row in rows]
    dataset = Dataset(ids, ids, [row["test"] for row in rows], list(sets), group)
    start = time.perf_counter()
    ours = evaluate(dataset, ["spice"], Run("none", threads)).per_caption["spice"]
    seconds = time.perf_counter() - start
    theirs = np.array([row["All"]["f"] for row in rows])
    equal = 100 * float(np.mean(np.abs(ours - theirs) < 1e-9))
    name = path.name.removeprefix("scores_").removesuffix(".jsonl.gz")
    pearson = float(np.corrcoef(ours, theirs)[0, 1])
    means = [float(theirs.mean()), float(ours.mean())]
    return [
        name,
        f"{len(rows):,}",
        *(f"{mean:.5f}" for mean in means),
        f"{abs(means[0] - means[1]):.5f}",
        f"{pearson:.6f}",
        f"{equal:.2f}",
        f"{seconds:.0f}",
    ]


def table(header: list[str], rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CAPEVAL_DATA", ROOT.parent / "shared")))
    parser.add_argument("--parses", type=int, default=0)
    parser.add_argument("--sets", default="")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    folder = arguments.data / "golden" / "spice"
    wanted = {f"scores_{name}.jsonl.gz" for name in arguments.sets.split(",") if name}
    parses, scores = [], []
    for path in sorted(folder.glob("parses_*.jsonl.gz")):
        parses.append(measure_parses(path, arguments.parses, arguments.threads))
        print(*parses[-1], flush=True)
    for path in sorted(folder.glob("scores_*.jsonl.gz")):
        if not wanted or path.name in wanted:
            scores.append(measure_scores(path, arguments.threads))
            print(*scores[-1], flush=True)
    first = table(["set", "captions", *(f"{layer} %" for layer in LAYERS), "trees/s"], parses)
    header = ["set", "rows", "official", "ours", "difference", "Pearson", "equal %", "s"]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(TEXT.format(parses=first, scores=table(header, scores)))


if __name__ == "__main__":
    main()
