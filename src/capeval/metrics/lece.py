"""LECE (Cui et al. 2018): the probability that a caption was written by a person, given its picture or references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from capeval.corpus import Corpus
from capeval.errors import ExpressionError, Unavailable
from capeval.metrics.explaining import leave_one_out
from capeval.run import Run
from capeval.types import Array, Explanation, Floats, Info, Longs, Metric, Picture

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint
    from capeval.runtime.lece import Critique

CHECKPOINTS = {
    ("image", "all"): "lece",
    ("image", "rc"): "lece-rc",
    ("reference", "all"): "lece-reference",
}
"""The checkpoints that come with capeval, by context and negatives."""
_TEXT_ONLY = "lece(context=reference) needs none"


@dataclass(frozen=True)
class Lece(Metric):
    """`context`: what a caption is judged by, `image` or `reference`; `negatives`: what the critique has learned to
    tell from human captions, `all` kinds or `rc`, captions of other pictures; `checkpoint`: the folder of a critique
    of your own, which decides both.
    """

    context: str = "image"
    negatives: str = "all"
    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="lece",
        names=("lece",),
        summary="Probability that the caption is human, by a critique trained on human and machine captions",
        citation="Cui et al. 2018, Learning to Evaluate Image Captioning (CVPR)",
        needs=("pictures",),
    )

    def __post_init__(self) -> None:
        if self.checkpoint:
            if (self.context, self.negatives) != ("image", "all"):
                raise ExpressionError("lece: a checkpoint decides context and negatives; leave them out")
        elif (self.context, self.negatives) not in CHECKPOINTS:
            known = ", ".join(f"context={context} with negatives={kinds}" for context, kinds in CHECKPOINTS)
            raise ExpressionError(
                f"lece: there is no critique for context={self.context} with negatives={self.negatives}. There are: "
                f"{known}; `capeval train lece` makes others, for checkpoint=FOLDER"
            )

    def trained_on(self) -> tuple[str, ...]:
        return tuple(self._checkpoint().facts.get("trained_on", ()))

    def needs(self) -> tuple[str, ...]:
        context = self._checkpoint().config["context"] if self.checkpoint else self.context
        needed = {"image": ("pictures",), "reference": ("references",), "both": ("references", "pictures")}
        return needed[context]

    def encoders(self, run: Run) -> tuple[str, ...]:
        return tuple(filter(None, [self._checkpoint(run).encoder]))

    def hint_without_pictures(self) -> str:
        return _TEXT_ONLY

    def signature_extras(self, run: Run) -> dict[str, Any]:
        known = self._checkpoint(run)
        extras = {"checkpoint": known.digest}
        if self.checkpoint:  # which is neither what `context` nor what `negatives` says
            extras["critique"] = f"{known.config['context']}/{'+'.join(known.config['negatives'])}"
        return extras

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score."""
        if "pictures" in self.needs() and corpus.dataset.features is None:
            raise Unavailable(f"lece looks at pictures, and there are none. {_TEXT_ONLY}")
        from capeval.runtime.lece import open_critique

        critique = open_critique(self._source, corpus.run)
        row, reference = np.arange(len(corpus)), None
        if critique.context != "image":
            row, reference = _with_references(corpus)
        candidate = corpus.rows.candidate
        used = np.unique(candidate if reference is None else np.concatenate([candidate, reference]))
        captions = _read(critique, corpus, used)
        contexts: dict[str, tuple[Floats, npt.NDArray[Any]]] = {}
        if reference is not None:
            contexts["reference"] = (captions, np.searchsorted(used, reference))
        if critique.context != "reference":
            contexts["image"] = (_vectors(critique, corpus), corpus.image_number[row])
        place = np.searchsorted(used, candidate[row])
        scores = critique.judge(captions, place, contexts, corpus.threads).astype(np.float64)
        if reference is not None:  # several references: the mean
            scores = np.bincount(row, scores, len(corpus)) / np.bincount(row, minlength=len(corpus))
        has_words = np.diff(corpus.pieces.offsets)[candidate] > 0
        return np.where(has_words, scores, 0.0)[:, None]

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """What each word does to the score; of words that the critique does not know, that too."""
        if "pictures" in self.needs() and picture is None:
            raise Unavailable(f"lece looks at the picture, and there is none. {_TEXT_ONLY}", remedy="picture")
        from capeval.runtime.lece import open_critique

        found = leave_one_out(self, candidate, references, run, picture)
        vocabulary = open_critique(self._source, run).vocabulary
        unknown = [word for word in dict.fromkeys(candidate) if not vocabulary.has(word)]
        facts = {**found.facts, "critique": self._source}
        if unknown:
            facts["words it does not know"] = ", ".join(unknown)
        return [replace(found, facts=facts)]

    @property
    def _source(self) -> str:
        return self.checkpoint or CHECKPOINTS[self.context, self.negatives]

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.lece import open_trained

        return open_trained(self._source, run)


def _with_references(corpus: Corpus) -> tuple[Longs, Longs]:
    """Every row with each of its references: the row's number, and that of the reference among the captions."""
    corpus.require_references()
    offsets, group = corpus.rows.group_offsets, corpus.rows.group
    counts = np.diff(offsets)[group]
    row = np.repeat(np.arange(len(corpus)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    return row, corpus.rows.group_captions[offsets[group[row]] + within].astype(np.int64)


def _read(critique: Critique, corpus: Corpus, used: npt.NDArray[Any]) -> Floats:
    """The critique's vectors of some captions."""
    return critique.encode(*critique.vocabulary.encode(corpus.texts(used), critique.words), corpus.threads)


def _vectors(critique: Critique, corpus: Corpus) -> Floats:
    """The pictures as the critique wants them."""
    wanted = critique.checkpoint.encoder
    critique.checkpoint.check_encoder(corpus.features(wanted).encoder)
    vectors = corpus.vectors(wanted)
    critique.checkpoint.check_width("vectors", critique.picture_width, vectors.shape[1])
    return vectors
