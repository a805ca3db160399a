"""Whole commands of ours and of pycocoevalcap on the same files, and a table of both."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from coco import annotations, given_captions, prepare
from common import best, machine, markdown, run, write

PEER = """
import json
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
{scorers}
references = {{}}
for row in json.load(open("references.json"))["annotations"]:
    references.setdefault(row["image_id"], []).append(row)
candidates = {{row["image_id"]: [row] for row in json.load(open("candidates.json"))}}
tokenizer = PTBTokenizer()
references, candidates = tokenizer.tokenize(references), tokenizer.tokenize(candidates)
scores = {{}}
for name, scorer in SCORERS.items():
    score, _ = scorer.compute_score(references, candidates)
    scores |= {{f"bleu_{{i + 1}}": s for i, s in enumerate(score)}} if name == "bleu" else {{name: score}}
json.dump(scores, open("peer.json", "w"))
"""
COLUMNS = (
    "images",
    "pycocoevalcap s",
    "capeval s",
    "times faster",
    "their MB",
    "our MB",
    "our µs an image",
    "difference",
)


def against_pycocoevalcap(
    name: str, title: str, metrics: list[str], scorers: str, arguments: argparse.Namespace
) -> None:
    start, data, captions = machine(), annotations(), given_captions(arguments.candidates)
    ours = [sys.executable, "-m", "capeval", "score", "candidates.json", "-r", "references.json", "--format", "json"]
    ours += [part for metric in metrics for part in ("-m", metric)]
    rows = []
    for size in map(int, arguments.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), data, size, captions)
            (Path(folder) / "peer.py").write_text(PEER.format(scorers=scorers))
            rows.append(_row(size, ours, Path(folder), arguments.repeat))
        print(rows[-1], file=sys.stderr)
    source = arguments.candidates.name if arguments.candidates else "captions of other images"
    write(
        name,
        f"# {title}\n\nMade by `python benchmarks/{name.replace('.md', '.py')}`. {start}. Whole commands, 5 references "
        f"an image; candidates: {source}; the best of {arguments.repeat} runs of ours, one of the peer's, in turn. "
        "MB: the largest process. Difference: the largest between two corpus scores.\n\n" + markdown(COLUMNS, rows),
    )


def _row(size: int, ours: list[str], folder: Path, repeat: int) -> list[str]:
    # The peer runs between our runs, so that both meet the same neighbours on the machine.
    runs = [run(ours, folder)]
    theirs = run([sys.executable, "peer.py"], folder, {"LC_ALL": "C.UTF-8"})
    mine = best(runs + [run(ours, folder) for _ in range(repeat - 1)])
    scores, peer = json.loads(mine.output)["scores"], json.loads((folder / "peer.json").read_text())
    return [
        f"{size:,}",
        f"{theirs.seconds:.1f}",
        f"{mine.seconds:.2f}",
        f"{theirs.seconds / mine.seconds:.0f}",
        f"{theirs.peak_mb:.0f}",
        f"{mine.peak_mb:.0f}",
        f"{1e6 * mine.seconds / size:.0f}",
        f"{max(abs(scores[name] - peer[name]) for name in peer):.0e}",
    ]
