"""Meaning: how alike a caption and its references are to a sentence encoder that learned from people's judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from capeval.corpus import Corpus
from capeval.metrics.beside import Beside
from capeval.run import Run
from capeval.types import Array, Explanation, Floats, Info, Longs, Metric, Picture, Word

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint
    from capeval.runtime.meaning import Meaning as Encoder
    from capeval.runtime.meaning import Read, Readings

_SENTENCES, _WORDS = 0, 1
# Cosines from which words count as the same, and as near, where they are shown.
_SAME, _CLOSE = 0.8, 0.5
_RELATED = 0.7
"""Only what is beyond this cosine confirms: words that mean different things may have less."""
_UNSAID = 2.0
"""What no reference says takes more than what one says adds, else a wrong word would be free."""
_USUAL = 22.0
"""So much is confirmed of a usual caption by the others of its picture (COCO 22, Flickr8k 23; validation pictures)."""


@dataclass(frozen=True)
class Meaning(Metric):
    """`checkpoint`: the folder of a sentence encoder of your own."""

    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="meaning",
        names=("meaning", "meaning_best", "meaning_words", "confirmed"),
        summary="How alike in meaning the caption and its references are, by a sentence encoder",
        citation="ours; in the spirit of Reimers and Gurevych 2019 (Sentence-BERT) and Zhang et al. 2020 (BERTScore)",
        on_request=("meaning_best", "meaning_words", "confirmed"),
        revision=3,
    )

    def trained_on(self) -> tuple[str, ...]:
        return tuple(self._checkpoint().facts.get("trained_on", ()))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """The columns are the scores; all 0 for a caption without words."""
        from capeval.runtime.meaning import sentence_cosines, words_found

        corpus.require_references()
        encoder = self._encoder(corpus.run)
        read, own = read_once(encoder, corpus, np.arange(len(corpus.captions)))
        beside = Beside.of(corpus)
        one, other = own[beside.one], own[beside.other]
        sentences = encoder.alike(sentence_cosines(read, one, other), _SENTENCES)
        cosines, near = words_found(read, one, other)
        words = encoder.alike(cosines, _WORDS)
        said = _all_confirmed(read, own[corpus.rows.candidate], beside, near)
        found = np.column_stack([beside.means(sentences), beside.best(sentences), beside.means(words), said])
        has_words = np.diff(read.offsets)[own[corpus.rows.candidate]] > 0
        return np.where(has_words[:, None], found, 0.0)

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """For each reference: how alike the sentences are, and which word of it each word has found."""
        from capeval.runtime.meaning import sentence_cosines, word_match

        encoder = self._encoder(run)
        read = encoder.read([candidate, *references])
        mine = encoder.pieces.spelled(candidate)
        matches = [word_match(read, 0, number) for number in range(1, len(references) + 1)]
        # Of a long caption not all pieces are read.
        near = [cosines.max(axis=1) for _, cosines in matches if cosines.size]
        confirmed = _confirmed(near, read.weights[: read.offsets[1]])
        found = []
        for number, reference in enumerate(references, 1):
            own = np.array([0]), np.array([number])
            alike = float(encoder.alike(sentence_cosines(read, *own), _SENTENCES)[0])
            words, cosines = matches[number - 1]
            its = encoder.pieces.spelled(reference)
            rows: list[tuple[str | float, ...]] = []
            best = cosines.argmax(axis=1).tolist() if cosines.size else []
            for place, other in enumerate(best):
                weight = float(read.weights[read.offsets[0] + place])
                rows.append((mine[place], its[other], float(cosines[place, other]), weight))
            facts = {
                "alike": alike,
                "words alike": float(encoder.alike(np.array([words]), _WORDS)[0]),
                "confirmed by all": confirmed,
            }
            marked = _marked(candidate, encoder, rows)
            header = ("word", "finds", "cosine", "says")
            found.append(Explanation(" ".join(reference), facts, header, rows, marked))
        return found

    def _encoder(self, run: Run) -> Encoder:
        from capeval.runtime.meaning import open_meaning

        return open_meaning(self.checkpoint or "meaning", run)

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.meaning import open_trained

        return open_trained(self.checkpoint or "meaning", run)


def _all_confirmed(read: Read, captions: Longs, beside: Beside, near: Sequence[Floats]) -> Array:
    """Of each row; `near`: of each pair of captions, how near the words of the one have come to the other's."""
    found = np.empty(len(captions))
    ends = beside.begins + beside.counts
    for row, (caption, begin, end) in enumerate(zip(captions.tolist(), beside.begins.tolist(), ends.tolist())):
        weights = read.weights[read.offsets[caption] : read.offsets[caption + 1]]
        found[row] = _confirmed([near[pair] for pair in beside.pair[begin:end].tolist()], weights)
    return found


def _confirmed(near: Sequence[Floats], weights: Floats) -> float:
    """How much a caption says that some reference says too, and little else.

    `near`: how near its words have come to each reference.
    """
    if not len(near) or not len(weights):
        return 0.0
    nearest = np.max(near, axis=0)
    borne_out = np.clip((nearest - _RELATED) / (1 - _RELATED), 0, 1)
    said, unsaid = (float((each * weights).sum(dtype=np.float64)) for each in (borne_out, 1 - nearest))
    return said / (said + _UNSAID * unsaid + _USUAL)


def read_once(encoder: Encoder, corpus: Corpus, captions: npt.NDArray[Any]) -> tuple[Read, npt.NDArray[np.int64]]:
    """What the encoder reads of some captions of a corpus, each once, and where each is in that."""
    return readings(encoder, corpus).of(captions, corpus.texts, corpus.threads)


def readings(encoder: Encoder, corpus: Corpus) -> Readings:
    """What the encoder has read of a corpus so far."""
    from capeval.runtime.meaning import Readings

    return corpus.memo(("readings", encoder.checkpoint.digest), lambda: Readings(encoder, len(corpus.captions)))


def _marked(words: Sequence[str], encoder: Encoder, rows: Sequence[tuple[str | float, ...]]) -> tuple[Word, ...]:
    """Words by how well their pieces have found others."""
    found, place = [], 0
    for word in words:
        count = len(encoder.pieces.spelled([word]))
        cosines = [float(row[2]) for row in rows[place : place + count]]
        place += count
        if not cosines:
            found.append(Word(word))
            continue
        mean = float(np.mean(cosines))
        fate = "match" if mean >= _SAME else "near" if mean >= _CLOSE else "miss"
        found.append(Word(word, fate, None, f"{mean:.2f}"))
    return tuple(found)
