"""How close the fast parser comes to the official one, and how fast it is: writes docs/measured/fast_parser.md.

    python tools/measure_fast_parser.py [--data ../shared] [--trained FILE...] [--captions 1000000] [--threads 2]

Nothing is learned from the golden sets that are measured here: no caption of theirs may be in the files of parses that
the parser was trained on, the official ones and those named with `--trained`. `--captions` is how many captions the run
for memory parses: beginnings of those of the golden sets, over and over, each time with another word in them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench import Settings
from capeval.bench import run as run_benchmark
from capeval.evaluate import evaluate
from capeval.run import Run
from capeval.scene import SceneTuple, tuples_of_graph
from capeval.scene.fast import fast_parser
from capeval.train.tasks.parser.silver import SILVER, common, read_silver
from capeval.types import Dataset

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measured" / "fast_parser.md"
TEXT = """# The fast parser: how close to the official one, and how fast

Made by `python tools/measure_fast_parser.py`, weights `{digest}`. The golden sets are official outputs: `spice-1.0.jar`
with CoreNLP 3.6.0. Of their {golden:,} captions {trained_on} are among the {learned:,} parses that it was
trained on.

Parses, against the official ones: shares of tokens with the right tag, head, and head with label; of captions with
identical tuples; F1 of all tuples of the set.

{parses}
Scores, tokenised captions in, `spice_fast` out, against the official SPICE:

{scores}
Flickr8k-Expert, Kendall's tau-c with people: {tau:.4f} (official SPICE: .4489).

Speed, from tokenised captions to tuples, {threads} threads, weights loaded: {speed}. The machine's load was
{load:.1f} then ({cores} cores).

Memory, {captions:,} captions of six words, no two alike, one after the other: {memory}.
"""


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def name_of(path: Path) -> str:
    return path.name.split("_", 1)[1].removesuffix(".jsonl.gz")


def golden_captions(folder: Path) -> set[str]:
    """All captions of the golden sets: parsed ones, candidates and references."""
    found = {row["caption"] for path in folder.glob("parses_*.jsonl.gz") for row in rows_of(path)}
    for path in folder.glob("scores_*.jsonl.gz"):
        for row in rows_of(path):
            found.update([row["test"], *row["refs"]])
    return found


def measure_parses(path: Path, threads: int) -> list[str]:
    rows = [row for row in rows_of(path) if len(row["sentences"]) == 1]
    captions = [row["caption"] for row in rows]
    count = {"tokens": 0, "tags": 0, "heads": 0, "labels": 0, "identical": 0, "common": 0, "tuples": 0}
    for row, parse in zip(rows, fast_parser().parses(captions, Run(threads=threads)), strict=True):
        (sentence,) = row["sentences"]
        official = {dependent: (head, label) for head, dependent, label in sentence["basic"]}
        for place, (token, (head, _, label)) in enumerate(zip(parse.tokens, parse.basic, strict=True), 1):
            count["tokens"] += 1
            count["tags"] += token.tag == sentence["tokens"][place - 1][1]
            count["heads"] += official.get(place, (-1, ""))[0] == head
            count["labels"] += official.get(place) == (head, label)
        ours = tuples_of_graph(parse.graph())
        theirs: list[SceneTuple] = [tuple(each) for each in row["tuples"]]
        count["identical"] += sorted(ours) == sorted(theirs)
        count["common"] += common(ours, theirs)
        count["tuples"] += len(ours) + len(theirs)
    shares = [f"{100 * count[name] / count['tokens']:.2f}" for name in ("tags", "heads", "labels")]
    f1, identical = 2 * count["common"] / count["tuples"], 100 * count["identical"] / len(rows)
    return [name_of(path), f"{len(rows):,}", *shares, f"{f1:.4f}", f"{identical:.2f}"]


def measure_scores(path: Path, threads: int) -> list[str]:
    rows = list(rows_of(path))
    sets: dict[tuple[str, ...], int] = {}
    group = [sets.setdefault(tuple(row["refs"]), len(sets)) for row in rows]
    ids = [str(row["id"]) for row in rows]
    dataset = Dataset(ids, ids, [row["test"] for row in rows], list(sets), group)
    ours = evaluate(dataset, ["spice_fast"], Run("none", threads)).per_caption["spice_fast"]
    theirs = np.array([row["All"]["f"] for row in rows])
    means = float(theirs.mean()), float(ours.mean())
    pearson = float(np.corrcoef(ours, theirs)[0, 1])
    numbers = [*(f"{mean:.5f}" for mean in means), f"{abs(means[0] - means[1]):.5f}", f"{pearson:.5f}"]
    return [name_of(path), f"{len(rows):,}", *numbers]


def measure_speed(captions: list[str], threads: int) -> str:
    """The best of three runs, and their spread: the machine may have other work."""
    parser = fast_parser()
    for _ in parser.tuples(captions[:2000], Run(threads=threads)):
        pass
    found = []
    for _ in range(3):
        wall, used = time.perf_counter(), time.process_time()
        for _ in parser.tuples(captions, Run(threads=threads)):
            pass
        wall, used = time.perf_counter() - wall, time.process_time() - used
        found.append((len(captions) / wall, len(captions) / used))
    best, worst = max(found), min(found)
    return (
        f"{best[0]:,.0f} captions a second of {len(captions):,}, no two alike (worst of three runs {worst[0]:,.0f}); "
        f"{max(used for _, used in found):,.0f} per second of processor time"
    )


def measure_memory(folder: Path, captions: int, threads: int) -> str:
    """In a process of its own: resident memory after a tenth, a half, and all of the captions."""
    code = f"""
import gzip, json, os
from pathlib import Path
from capeval.run import Run
from capeval.scene.fast import fast_parser
texts = [json.loads(line)["caption"] for path in sorted(Path({str(folder)!r}).glob("parses_*.jsonl.gz"))
         for line in gzip.open(path, "rt", encoding="utf-8")]
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
count = {captions}
texts = [" ".join(text.split(" ")[:4]) for text in texts]
new = (f"{{texts[i % len(texts)]}} of kind{{i}}" for i in range(count))
marks = {{count // 10, count // 2, count}}
for done, tuples in enumerate(fast_parser().tuples(new, Run(threads={threads})), 1):
    if done in marks:
        print(f"{{resident():.0f}}", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    tenth, half, end = done.stdout.split()
    return f"{tenth} MB after a tenth, {half} MB after half, {end} MB at the end"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CAPEVAL_DATA", ROOT.parent / "shared")))
    parser.add_argument("--trained", type=Path, nargs="*", default=[], help="further files of parses it was trained on")
    parser.add_argument("--captions", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only-memory", action="store_true", help="print the memory's figures, and write no page")
    arguments = parser.parse_args()
    folder, threads = arguments.data / "golden" / "spice", arguments.threads
    if arguments.only_memory:
        print(measure_memory(folder, arguments.captions, threads))
        return
    golden = golden_captions(folder)
    files = [arguments.data / "data" / SILVER, *arguments.trained]
    learned = [" ".join(each.words) for path in files for each in read_silver(path)]
    trained_on = golden.intersection(learned)
    print(f"{len(golden):,} golden captions, {len(trained_on)} of them among {len(learned):,} trained on", flush=True)
    parses, scores = [], []
    for path in sorted(folder.glob("parses_*.jsonl.gz")):
        parses.append(measure_parses(path, threads))
        print(*parses[-1], flush=True)
    for path in sorted(folder.glob("scores_*.jsonl.gz")):
        scores.append(measure_scores(path, threads))
        print(*scores[-1], flush=True)
    settings, run = Settings(resamples=10), Run(threads=threads)
    found = run_benchmark("flickr8k-expert", "spice_fast", data=arguments.data, settings=settings, run=run).to_dict()
    tau = float(found["metrics"][0]["kendall_c"]["value"])
    print("tau-c", tau, flush=True)
    captions = list(dict.fromkeys(row["caption"] for path in folder.glob("parses_coco.*") for row in rows_of(path)))
    load = os.getloadavg()[0]
    speed = measure_speed(captions, threads)
    print(speed, flush=True)
    memory = measure_memory(folder, arguments.captions, threads)
    print(memory, flush=True)
    header = ["set", "captions", "tags %", "heads %", "labels %", "tuple F1", "identical %"]
    text = TEXT.format(
        digest=fast_parser().digest,
        golden=len(golden),
        trained_on=len(trained_on) or "none",
        learned=len(learned),
        parses=table(header, parses),
        scores=table(["set", "rows", "official", "spice_fast", "difference", "Pearson"], scores),
        tau=tau,
        threads=threads,
        speed=speed,
        load=load,
        cores=os.cpu_count(),
        captions=arguments.captions,
        memory=memory,
    )
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
