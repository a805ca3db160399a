"""TIGEr (Jiang et al. 2019): whether a caption speaks of the same regions of the picture as people's captions do.

A caption's grounding vector says of each region how well the caption's words fit it (`capeval.runtime.scan`). That of a
candidate is compared with the mean of the references' in two ways: by the order of the regions (RRS), and by the
distribution over them together with how well the whole picture is met (WDS). Functions here take vectors [n, regions].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.errors import ExpressionError, Unavailable
from capeval.metrics.grounding import ByScan, Grounded, grounded
from capeval.run import Run
from capeval.types import Array, Dataset, Explanation, Info, Longs, Picture, Sample

# Cosines have single precision: regions whose values differ by no more than this are equal.
_EQUAL = 1e-6


@dataclass(frozen=True)
class Tiger(ByScan):
    """`checkpoint`: the folder of a SCAN of your own; `tau`: how steeply WDS falls with the distance."""

    tau: float = 1.5

    info: ClassVar[Info] = Info(
        name="tiger",
        names=("tiger", "tiger_rrs", "tiger_wds"),
        summary="Whether the caption is grounded in the same regions of the picture as the references are",
        citation="Jiang et al. 2019, TIGEr: Text-to-Image Grounding for Image Caption Evaluation (EMNLP)",
        on_request=("tiger_rrs", "tiger_wds"),
        needs=("references", "pictures"),
    )

    def __post_init__(self) -> None:
        if self.tau <= 0:
            raise ExpressionError(f"tiger: tau is {self.tau:g}; it must be more than 0")

    def per_sample(self, stats: Array) -> Array:
        """TIGEr is the mean of the two (equation 14)."""
        return np.column_stack([stats.mean(axis=1), stats])

    def stats(self, corpus: Corpus) -> Array:
        """Columns: RRS, WDS; both are 0 where nothing can be compared."""
        found = np.zeros((len(corpus), 2))
        for rows, candidate, reference, is_known in self._grounded(corpus):
            rrs = region_rank_similarity(reference, candidate)
            wds = weight_distribution_similarity(reference, candidate, self.tau)
            found[rows] = np.where(is_known[:, None], np.column_stack([rrs, wds]), 0)
        return found

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        if picture is None:
            raise Unavailable("tiger looks at the picture, and there is none", remedy="picture")
        from capeval.metrics.tiger_explain import Side, explanation
        from capeval.runtime.regions import region_names

        caption, *texts = (" ".join(tokens) for tokens in (candidate, *references))
        dataset = Dataset.from_samples([Sample("", picture.image, caption, tuple(texts))])
        dataset.features = picture.features
        corpus = Corpus(dataset, replace(run, tokenizer="none"))
        scores = dict(zip(self.info.names, self.per_sample(self.stats(corpus))[0].tolist()))
        (found,) = self._grounded(corpus)
        if not found.is_known[0]:
            why = "nothing: the model must know a word of the caption, and one of a reference"
            return [Explanation(" / ".join(texts), {**scores, "compared": why}, (), [])]
        boxes = corpus.boxes(0, 1, *self.encoders(corpus.run))
        names = region_names(found.candidate.shape[1], None if boxes is None else boxes[0])
        ours, theirs = (
            Side(each[0], ranking(each)[0], distribution(each)[0]) for each in (found.candidate, found.reference)
        )
        return [explanation(" / ".join(texts), scores, names, ours, theirs, relevance(found.reference)[0])]

    def _grounded(self, corpus: Corpus) -> Iterator[Grounded]:
        scan = self.open(corpus)
        corpus.require_references()
        return grounded(corpus, scan)


def ranking(vectors: Array) -> Longs:
    """The regions of each vector, the highest value first; of equal ones the region with the smaller number."""
    return np.argsort(-vectors, axis=1, kind="stable")


def relevance(reference: Array) -> Array:
    """What each region is worth: from 0 to 1 as the references have it; 1 for all where they are equal."""
    low, high = reference.min(axis=1, keepdims=True), reference.max(axis=1, keepdims=True)
    is_flat = high - low <= _EQUAL
    return np.where(is_flat, 1.0, (reference - low) / np.where(is_flat, 1.0, high - low))


def distribution(vectors: Array) -> Array:
    """Logarithms of the softmax over the regions."""
    shifted = vectors - vectors.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def region_rank_similarity(reference: Array, candidate: Array) -> Array:
    """RRS, equations 8 to 10: the discounted gain of the candidate's order of regions, as a share of the best one's."""
    worth = relevance(reference)
    discount = 1 / np.log2(np.arange(worth.shape[1]) + 2)
    gain = (np.take_along_axis(worth, ranking(candidate), axis=1) * discount).sum(axis=1)
    best = (np.take_along_axis(worth, ranking(worth), axis=1) * discount).sum(axis=1)
    return np.asarray(np.minimum(gain / best, 1.0))


def weight_distribution_similarity(reference: Array, candidate: Array, tau: float) -> Array:
    """WDS, equations 11 to 13. A vector of zeros is infinitely short, and two of them are equally long."""
    p, q = distribution(reference), distribution(candidate)
    divergence = (np.exp(p) * (p - q)).sum(axis=1)
    lengths = [np.sqrt((vectors**2).sum(axis=1)) for vectors in (reference, candidate)]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relevances = np.where(lengths[0] == lengths[1], 0.0, np.log(lengths[0]) - np.log(lengths[1]))
        return np.asarray(1 / (1 + np.exp(tau * (divergence + relevances))))
