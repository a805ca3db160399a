"""How diverse captions are: the words of a system, and the several captions that it has for an image.

- Div-n (Shetty et al. 2017): distinct n-grams of an image's captions, divided by their words
- mBLEU-n: BLEU of each caption against the other captions of its image; the lower, the more diverse
- self-CIDEr (Wang & Chan 2019): how evenly the eigenvalues of the captions' CIDEr kernel are spread
- novelty: the share of captions that no training caption equals, word for word
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capeval.corpus import Corpus, Ngrams
from capeval.errors import DataError
from capeval.io.dftable import DfTable
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider, load_table, make_table
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.types import Array, Dataset, Longs

ORDERS = 4
TABLE = "coco-val2014"
"""Document frequencies for self-CIDEr, where there are no references to take them from."""


@dataclass(frozen=True)
class Diversity:
    """Of the captions of one system."""

    captions: int
    images: list[str]
    counts: Longs
    """How many captions each image has."""
    scores: dict[str, float]
    """Of all captions together: means over images with several captions, but for mBLEU, which is BLEU of the corpus."""
    per_image: dict[str, Array]
    """NaN for an image with one caption."""

    def document(self) -> dict[str, Any]:
        return {"n": self.captions, "images": len(self.images), "scores": self.scores}

    def rows(self) -> Iterable[dict[str, Any]]:
        """For each image: its id, the number of its captions and its scores; None for what does not exist."""
        for place, (image, count) in enumerate(zip(self.images, self.counts.tolist(), strict=True)):
            scores = {name: float(values[place]) for name, values in self.per_image.items()}
            shown = {name: None if math.isnan(score) else score for name, score in scores.items()}
            yield {"image": image, "captions": count, "scores": shown}


def diversity(
    images: Sequence[str],
    captions: Sequence[str],
    *,
    references: Iterable[Sequence[str]] | None = None,
    training: Iterable[str] | None = None,
    df: str = "",
    run: Run | None = None,
) -> Diversity:
    """The diversity of captions; caption i is one of image `images[i]`.

    `references`: the references of each image, from which self-CIDEr takes document frequencies and the vocabulary is
    compared with. `df`: a table of them instead. `training`: the captions that the system has learned from.
    """
    run = run or Run()
    if not captions:
        raise DataError("there are no captions to look at")
    rows = _rows_of(images)
    corpus = Corpus(_each_beside_the_others(images, captions, rows), run)
    truths = [tuple(each) for each in references] if references is not None else None
    scores = _of_all(corpus, truths, training, run)
    several = [each for each in rows.values() if len(each) > 1]
    per_image: dict[str, Array] = {}
    if several:
        table = load_table(df) if df else make_table(truths, run=run) if truths else load_table(TABLE)
        per_image = _of_images(corpus, list(rows.values()), table)
        bleu, with_others = Bleu(), np.concatenate(several)
        totals = bleu.corpus_score(corpus.stats(bleu)[with_others])
        for name, values in per_image.items():
            order = name.removeprefix("mbleu_")
            scores[name] = float(totals[int(order) - 1]) if order.isdigit() else float(np.nanmean(values))
    counts = np.array([len(each) for each in rows.values()], np.int64)
    return Diversity(len(captions), list(rows), counts, scores, per_image)


def _rows_of(images: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, image in enumerate(images):
        rows.setdefault(image, []).append(row)
    return rows


def _each_beside_the_others(images: Sequence[str], captions: Sequence[str], rows: dict[str, list[int]]) -> Dataset:
    """Each caption with the other captions of its image as its references."""
    others = [tuple(captions[row] for row in rows[image] if row != own) for own, image in enumerate(images)]
    return Dataset([str(row) for row in range(len(captions))], images, captions, others, range(len(captions)))


def _of_all(
    corpus: Corpus, references: Sequence[Sequence[str]] | None, training: Iterable[str] | None, run: Run
) -> dict[str, float]:
    offsets, candidate = corpus.words.offsets, corpus.rows.candidate
    texts = [" ".join(words) for words in corpus.texts(candidate)]
    scores = {
        "vocabulary": float(len(np.unique(corpus.words.tokens))),
        "words": float(np.diff(offsets)[candidate].mean()),
        "distinct": len(set(texts)) / len(texts),
    }
    if references is not None:
        theirs = {word for words in tokenize([text for each in references for text in each], run) for word in words}
        scores["vocabulary_ratio"] = scores["vocabulary"] / max(1, len(theirs))
    if training is not None:
        known = {" ".join(words) for words in tokenize(list(dict.fromkeys(training)), run)}
        scores["novel"] = sum(text not in known for text in texts) / len(texts)
    return scores


def _of_images(corpus: Corpus, rows: Sequence[Sequence[int]], table: DfTable) -> dict[str, Array]:
    grams = corpus.ngrams(ORDERS)
    weights = Cider().idf(corpus, grams, table)
    bleu = Bleu()
    each = bleu.per_sample(corpus.stats(bleu))
    lengths = np.diff(corpus.words.offsets)
    found = np.full((len(rows), 3 + ORDERS), np.nan)
    for image, its_rows in enumerate(rows):
        if len(its_rows) < 2:
            continue
        own = corpus.rows.candidate[its_rows].tolist()
        words = max(1, int(lengths[own].sum()))
        found[image, 0] = len(np.unique(np.concatenate([_ids(grams, caption, 0) for caption in own]))) / words
        found[image, 1] = len(np.unique(np.concatenate([_ids(grams, caption, 1) for caption in own]))) / words
        found[image, 2 : 2 + ORDERS] = each[its_rows].mean(axis=0)
        found[image, 2 + ORDERS] = self_cider(cider_kernel(grams, own, weights))
    names = ["div_1", "div_2", *(f"mbleu_{n}" for n in range(1, ORDERS + 1)), "self_cider"]
    return dict(zip(names, found.T, strict=True))


def _ids(grams: Ngrams, caption: int, order: int) -> Any:
    begin = caption * grams.n + order
    return grams.ids[grams.gram_offsets[begin] : grams.gram_offsets[begin + 1]]


def cider_kernel(grams: Ngrams, captions: Sequence[int], weights: Array) -> Array:
    """CIDEr, from 0 to 1, of each of the captions with each: the mean over orders of the cosine of their n-grams."""
    kernel = np.zeros((len(captions), len(captions)))
    for order in range(grams.n):
        spans = [(c * grams.n + order, c * grams.n + order + 1) for c in captions]
        places = [slice(grams.gram_offsets[begin], grams.gram_offsets[end]) for begin, end in spans]
        ids = np.concatenate([grams.ids[place] for place in places])
        values = np.concatenate([grams.counts[place] * weights[grams.ids[place]] for place in places])
        distinct, column = np.unique(ids, return_inverse=True)
        row = np.repeat(np.arange(len(captions)), [place.stop - place.start for place in places])
        vectors = np.zeros((len(captions), len(distinct)))
        vectors[row, column] = values
        norms = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        vectors /= np.where(norms > 0, norms, 1.0)
        kernel += vectors @ vectors.T
    return np.asarray(kernel / grams.n)


def self_cider(kernel: Array) -> float:
    """0 where all captions say the same, 1 where none has anything in common with another."""
    roots = np.sqrt(np.clip(np.linalg.eigvalsh(kernel), 0.0, None))
    if roots.sum() == 0:  # nobody says anything
        return 0.0
    # Captions that say the same leave eigenvalues of rounding errors, whose roots are not small.
    roots[roots < roots.max() * 1e-7] = 0.0
    return max(0.0, float(-math.log(roots.max() / roots.sum()) / math.log(len(roots))))
