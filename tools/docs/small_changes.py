"""Writes docs/examples/small-changes.md: what each metric says of small changes to a caption.

    python tools/docs/small_changes.py

The five captions are those of table 2 of Kilickaya et al. 2017, "Re-evaluating Automatic Metrics for Image
Captioning" (EACL); all metrics that are installed score them against the first.
"""

from __future__ import annotations

from pathlib import Path

import capeval
from capeval.errors import Unavailable
from capeval.registry import metric_classes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "small-changes.md"
CAPTIONS = {
    "original": "a man wearing a red life jacket is sitting in a canoe on a lake",
    "candidate": "a man wearing a life jacket is in a small boat on a lake",
    "synonyms": "a guy wearing a life vest is in a small boat on a lake",
    "redundancy": "a man wearing a life jacket is in a small boat on a lake at sunset",
    "word order": "in a small boat on a lake a man is wearing a life jacket",
}
# One image has no document frequencies of its own.
WITH_TABLE = {name: f"{name}(df=coco-val2014)" for name in ("cider", "cider_d", "spider")}
TEXT = """# What metrics make of small changes

Five captions of one picture, each scored against the first one alone. They are those of table 2 in Kilickaya et al.
2017, *Re-evaluating Automatic Metrics for Image Captioning* (EACL). Made by `python tools/docs/small_changes.py`.

{table}
The paper's own figures are others (for candidate, synonyms, redundancy and word order: BLEU .45 .20 .45 .26, METEOR .28
.17 .28 .26, ROUGE .67 .57 .66 .38, SPICE .40 .00 .36 .40, WMD .19 .10 .18 .19); it does not say which BLEU, document
frequencies and word vectors they were made with. The pattern is the same: synonyms cost most, redundant words little;
word order matters to n-gram metrics, little to METEOR, and not at all to SPICE and WMD.
"""


def column(expression: str) -> dict[str, list[float]]:
    references = {name: [CAPTIONS["original"]] for name in CAPTIONS}
    result = capeval.score(CAPTIONS, references, [expression])
    return {key: values.tolist() for key, values in result.per_caption.items()}


def main() -> None:
    columns: dict[str, list[float]] = {}
    for name in metric_classes():
        try:
            columns |= column(WITH_TABLE.get(name, name))
        except Unavailable as problem:
            print(f"{name} is left out: {problem}")
    names = [name.split("(")[0] for name in columns]
    lines = ["| | caption | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for i, (kind, caption) in enumerate(CAPTIONS.items()):
        lines.append(f"| {kind} | {caption} | " + " | ".join(f"{values[i]:.2f}" for values in columns.values()) + " |")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(TEXT.format(table="\n".join(lines) + "\n"))
    print(PAGE)


if __name__ == "__main__":
    main()
