"""UICE's semantic module (Zhao et al.): the probability that a caption and a picture match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.errors import Unavailable
from capeval.metrics.explaining import weighed
from capeval.metrics.uice_syn import CITATION
from capeval.run import Run
from capeval.types import Array, Explanation, Info, Metric, Picture

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint

CHECKPOINT = "uice-sem"
"""The module that comes with capeval."""
_TAGS = {"NN": "noun", "VB": "verb", "JJ": "adjective", "CD": "number"}


@dataclass(frozen=True)
class UiceSem(Metric):
    """`checkpoint`: the folder of a semantic module of your own."""

    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="uice_sem",
        names=("uice_sem",),
        summary="Probability that the caption and the picture match; needs no reference",
        citation=CITATION,
        needs=("pictures",),
    )

    def trained_on(self) -> tuple[str, ...]:
        return tuple(self._checkpoint().facts.get("trained_on", ()))

    def encoders(self, run: Run) -> tuple[str, ...]:
        return tuple(filter(None, [self._checkpoint(run).encoder]))

    def hint_without_pictures(self) -> str:
        return "uice_syn needs none"

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest, "encoder": self._checkpoint(run).encoder or "own"}

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words."""
        if corpus.dataset.features is None:
            raise Unavailable("uice_sem looks at pictures, and there are none", remedy="pictures")
        from capeval.runtime.uice import open_semantics

        semantics = open_semantics(self._source, corpus.run)
        wanted = semantics.checkpoint.encoder
        semantics.checkpoint.check_encoder(corpus.features(wanted).encoder)
        vectors = corpus.vectors(wanted)
        semantics.checkpoint.check_width("vectors", semantics.picture_width, vectors.shape[1])
        used, place = np.unique(corpus.rows.candidate, return_inverse=True)
        captions = semantics.read(corpus.texts(used), corpus.threads)
        pictures = semantics.look(vectors, corpus.threads)
        scores = semantics.match(captions, place, pictures, corpus.image_number, corpus.threads)
        has_words = np.diff(corpus.pieces.offsets)[corpus.rows.candidate] > 0
        return np.where(has_words, scores, 0.0)[:, None]

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """What each main word does to the match: the score without it, and by how much it is less."""
        if picture is None:
            raise Unavailable("uice_sem looks at the picture, and there is none", remedy="picture")
        from capeval.runtime.uice import open_semantics
        from capeval.scene import dependencies_of

        semantics = open_semantics(self._source, run)
        wanted = semantics.checkpoint.encoder
        semantics.checkpoint.check_encoder(picture.features.by(wanted).encoder)
        (parsed,) = dependencies_of([" ".join(candidate)], "fast", run)
        main = [place for place, token in enumerate(parsed[0][: semantics.words]) if token.tag[:2] in _TAGS]
        texts = [list(candidate), *([*candidate[:place], *candidate[place + 1 :]] for place in main)]
        seen = semantics.look(picture.features.by(wanted).vectors([picture.image]))
        every = np.arange(len(texts))
        scores = semantics.match(semantics.read(texts), every, seen, np.zeros_like(every))
        scores = np.where([bool(text) for text in texts], scores, 0.0)
        rows = [
            (
                candidate[place] if semantics.vocabulary.has(candidate[place]) else f"{candidate[place]} (not known)",
                _TAGS[parsed[0][place].tag[:2]],
                float(without),
                float(scores[0] - without),
            )
            for place, without in zip(main, scores[1:])
        ]
        header = ("main word", "is a", "match without it", "what it adds")
        adds = dict(zip(main, (scores[0] - scores[1:]).tolist()))
        words = weighed(candidate, [adds.get(place, 0.0) for place in range(len(candidate))])
        return [Explanation("", {self.info.name: float(scores[0])}, header, rows, words)]

    @property
    def _source(self) -> str:
        return self.checkpoint or CHECKPOINT

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.uice import open_trained

        return open_trained(self._source, "uice-sem", run)
