"""Tokens + BLEU + ROUGE-L + CIDEr-D: `capeval score` against pycocoevalcap, whole commands in one run.

    python benchmarks/ngrams.py [--sizes 1000,10000,40000] [--repeat 3] [--candidates FILE]

The references are those of COCO val2014, 5 an image, from the annotations inside the installed pycocoevalcap package
(which is the peer, and needs Java). Candidates: COCO results for val2014 in FILE, else a caption of the next image.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from common import best, machine, markdown, run, write

PEER = """
import json
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

references = {}
for row in json.load(open("references.json"))["annotations"]:
    references.setdefault(row["image_id"], []).append(row)
candidates = {row["image_id"]: [row] for row in json.load(open("candidates.json"))}
tokenizer = PTBTokenizer()
references, candidates = tokenizer.tokenize(references), tokenizer.tokenize(candidates)
scores = {}
for name, scorer in (("bleu", Bleu(4)), ("rouge_l", Rouge()), ("cider_d", Cider())):
    score, _ = scorer.compute_score(references, candidates)
    scores |= {f"bleu_{i + 1}": s for i, s in enumerate(score)} if name == "bleu" else {name: score}
json.dump(scores, open("peer.json", "w"))
"""


def annotations() -> dict:
    spec = importlib.util.find_spec("pycocoevalcap")
    if spec is None or not spec.submodule_search_locations or shutil.which("java") is None:
        sys.exit("this benchmark needs its peer: pip install pycocoevalcap==1.2, and Java on the PATH")
    jar = Path(spec.submodule_search_locations[0]) / "spice" / "spice-1.0.jar"
    with zipfile.ZipFile(jar) as archive:
        return json.loads(archive.read("coco/annotations/captions_val2014.json"))


def prepare(folder: Path, data: dict, size: int, captions: dict[int, str]) -> None:
    by_image: dict[int, list[dict]] = {}
    for row in data["annotations"]:
        by_image.setdefault(row["image_id"], []).append(row)
    images = list(by_image)[:size]
    following = images[1:] + images[:1]
    given = {i: captions.get(i) or by_image[after][0]["caption"] for i, after in zip(images, following, strict=True)}
    references = [row for image in images for row in by_image[image][:5]]
    (folder / "references.json").write_text(json.dumps({**data, "annotations": references}))
    (folder / "candidates.json").write_text(
        json.dumps([{"image_id": image, "caption": caption} for image, caption in given.items()])
    )
    (folder / "peer.py").write_text(PEER)


def largest_difference(folder: Path, output: str) -> float:
    ours = json.loads(output)["scores"]
    theirs = json.loads((folder / "peer.json").read_text())
    return max(abs(ours[name] - theirs[name]) for name in theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,5000,10000,20000,40000")
    parser.add_argument("--repeat", type=int, default=3, help="our command; the peer runs once at each size")
    parser.add_argument("--candidates", type=Path)
    arguments = parser.parse_args()
    header = machine()
    captions = {}
    if arguments.candidates:
        opened = gzip.open if arguments.candidates.suffix == ".gz" else open
        with opened(arguments.candidates, "rt") as file:
            captions = {row["image_id"]: row["caption"] for row in json.load(file)}
    data = annotations()
    ours = [sys.executable, "-m", "capeval", "score", "candidates.json", "-r", "references.json"]
    ours += ["-m", "bleu", "-m", "rouge", "-m", "cider_d", "--format", "json"]
    rows = []
    for size in map(int, arguments.sizes.split(",")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder, data, size, captions)
            # The peer runs between our runs, so that both meet the same neighbours on the machine.
            runs = [run(ours, folder)]
            theirs = run([sys.executable, "peer.py"], folder, {"LC_ALL": "C.UTF-8"})
            runs += [run(ours, folder) for _ in range(arguments.repeat - 1)]
            mine = best(runs)
            gap = largest_difference(folder, mine.output)
        rows.append(
            [
                f"{size:,}",
                f"{theirs.seconds:.1f}",
                f"{mine.seconds:.2f}",
                f"{theirs.seconds / mine.seconds:.0f}",
                f"{theirs.peak_mb:.0f}",
                f"{mine.peak_mb:.0f}",
                f"{1e6 * mine.seconds / size:.0f}",
                f"{gap:.0e}",
            ]
        )
        print(rows[-1], file=sys.stderr)
    columns = [
        "images",
        "pycocoevalcap s",
        "capeval s",
        "times faster",
        "their MB",
        "our MB",
        "our µs an image",
        "largest difference",
    ]
    source = arguments.candidates.name if arguments.candidates else "captions of other images"
    write(
        "ngrams.md",
        "# Tokens, BLEU, ROUGE-L and CIDEr-D\n\n"
        f"Made by `python benchmarks/ngrams.py`. {header}. Whole commands, 5 references an image; "
        f"candidates: {source}; the best of {arguments.repeat} runs of ours, one of the peer's, in turn. "
        "MB: the largest process.\n\n"
        + markdown(columns, rows),
    )


if __name__ == "__main__":
    main()
