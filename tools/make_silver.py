"""Parses captions with the exact parser into a file that `capeval train parser` learns from.

    python tools/make_silver.py CAPTIONS.txt -o PARSES.tsv

One caption a line goes in. Each line that comes out has words, tags, lemmas, heads and labels, with tabs between them;
captions that are there already are passed over, so an interrupted run goes on. The grammar must have been imported
(`capeval data import spice-grammar FILE`). Leave out captions that you want to measure the parser with.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from capeval.run import Run
from capeval.scene import dependencies_of
from capeval.text.tokenize import tokenize

BLOCK = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captions", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    os.environ["CAPEVAL_PARSE_CACHE"] = "off"  # the output keeps the parses
    run = Run()
    lines = options.captions.read_text("utf-8").split("\n")
    captions = dict.fromkeys(" ".join(words) for words in tokenize(lines, run) if words)
    there = options.output.read_text("utf-8").split("\n") if options.output.is_file() else []
    known = {line.split("\t")[0] for line in there}
    missing = [caption for caption in captions if caption not in known]
    with options.output.open("a", encoding="utf-8") as stream:
        for start in range(0, len(missing), BLOCK):
            block = missing[start : start + BLOCK]
            for caption, (tokens, basic) in zip(block, dependencies_of(block, "official", run), strict=True):
                above = {dependent: (str(head), label) for head, dependent, label in basic}
                if len(above) < len(tokens) or [token.word for token in tokens] != caption.split(" "):
                    continue  # no single tree over these words
                heads, labels = zip(*(above[place] for place in range(1, len(tokens) + 1)), strict=True)
                columns = [caption.split(" "), [t.tag for t in tokens], [t.lemma for t in tokens], heads, labels]
                stream.write("\t".join(" ".join(column) for column in columns) + "\n")
            stream.flush()
            print(f"{min(start + BLOCK, len(missing)):,} of {len(missing):,}")


if __name__ == "__main__":
    main()
