"""SPICE (Anderson et al. 2016): F1 of the objects, attributes and relations that captions speak of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from capeval.corpus import Corpus, Words
from capeval.run import Run
from capeval.scene import (
    ATTRIBUTE_KINDS,
    COLUMNS,
    REVISION,
    SceneTuple,
    TupleComparison,
    explain,
    file_digest,
    kind_of_attribute,
    meanings_of,
    official_parser,
    tuples_from_file,
    tuples_of,
)
from capeval.text.stem import stem
from capeval.types import Array, Bytes, Explanation, Info, Ints, Longs, Metric, Picture, Word


@dataclass(frozen=True)
class Spice(Metric):
    """`parses`: a JSONL file with the tuples of the captions; without it captions are parsed."""

    parses: str = ""

    parser: ClassVar[str] = "official"
    info: ClassVar[Info] = Info(
        name="spice",
        names=("spice", *(f"spice_{kind}" for kind in COLUMNS)),
        summary="F1 of objects, attributes and relations, synonyms matched; spice_color and others by kind",
        citation="Anderson et al. 2016, SPICE: Semantic Propositional Image Caption Evaluation (ECCV)",
        on_request=tuple(f"spice_{kind}" for kind in COLUMNS),
        # A tuple of the references may serve several of the candidate, so recall can pass 1, and F1 come near 2.
        bounds=(0.0, 2.0),
    )

    def stats(self, corpus: Corpus) -> Array:
        """For each kind: matched tuples, tuples of the candidate, tuples of the references."""
        tuples = self.tuples(tokenised(corpus.pieces), corpus.run)
        return corpus.engine.scene_stats(*number_tuples(tuples), corpus.rows, corpus.threads)

    def per_sample(self, stats: Array) -> Array:
        """Of a kind that the references do not speak of there is no score: NaN."""
        counts = stats.reshape(len(stats), len(COLUMNS), 3)
        # Cardinalities, colors and sizes are attributes; the whole is objects, attributes and relations.
        whole = counts[:, :3].sum(axis=1)
        by_kind = np.where(counts[..., 2] > 0, f_scores(counts), np.nan)
        return np.column_stack([f_scores(whole), by_kind])

    def summands(self, stats: Array) -> Array:
        """Scores, and which of them there are: a mean is taken over these."""
        scores = self.per_sample(stats)
        return np.hstack([np.nan_to_num(scores), np.isfinite(scores)])

    def from_totals(self, totals: Array, rows: int | Array) -> Array:
        sums, counts = np.split(totals, 2, axis=-1)
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        texts = [" ".join(tokens) for tokens in (candidate, *references)]
        ours, *theirs = self.tuples(texts, run)
        found = explain(ours, [each for tuples in theirs for each in tuples])
        rows = [
            (fate, "(" + ", ".join(str(part) for part in each) + ")")
            for fate, tuples in (("matched", found.matched), ("wrong", found.wrong), ("missing", found.missing))
            for each in tuples
        ]
        facts = {self.info.name: found.f, "precision": found.precision, "recall": found.recall}
        words = tuple(Word(text, fate) for text, fate in zip(candidate, _fates(candidate, found)))
        return [Explanation(" / ".join(texts[1:]), facts, ("", "tuple"), rows, words)]

    def signature_extras(self, run: Run) -> dict[str, str]:
        if self.parses:
            return {"tuples": file_digest(self.parses)[:12]}
        return {"grammar": official_parser(run).grammar.digest[:12], "parser": str(REVISION)}

    def tuples(self, captions: list[str], run: Run) -> list[list[SceneTuple]]:
        """The tuples of each tokenised caption."""
        if self.parses:
            return tuples_from_file(self.parses, captions)
        return tuples_of(captions, self.parser, run)


def _fates(candidate: Sequence[str], found: TupleComparison) -> list[str]:
    """Whether a matched tuple names the word, or only wrong ones do, or none does."""
    matched, wrong = _stems(found.matched), _stems(found.wrong)
    return ["match" if stem(word) in matched else "miss" if stem(word) in wrong else "" for word in candidate]


def _stems(tuples: Sequence[tuple[str, ...]]) -> set[str]:
    """Of all words in the tuples, whose concepts are written with their synonyms."""
    return {stem(word) for each in tuples for part in each for word in re.split(r"[^\w'-]+", str(part)) if word}


def f_scores(counts: Array) -> Array:
    """F1 from matched, candidate's and references' tuples in the last axis; 0 where nothing is matched."""
    matched, candidate, reference = np.moveaxis(counts, -1, 0)
    precision, recall = (matched / np.maximum(1.0, total) for total in (candidate, reference))
    return np.asarray(2.0 * precision * recall / np.where(matched > 0, precision + recall, 1.0))


def tokenised(pieces: Words) -> list[str]:
    """The captions as text again, a space between tokens."""
    words = [pieces.vocabulary[token] for token in pieces.tokens.tolist()]
    return [" ".join(words[first:last]) for first, last in pairwise(pieces.offsets.tolist())]


class NumberedTuples(NamedTuple):
    """Tuples as the engine takes them; see `capeval.engine.scene`."""

    tuples: Ints
    tuple_offsets: Longs
    synsets: Ints
    synset_offsets: Longs
    attribute_kinds: Bytes


def number_tuples(captions: list[list[SceneTuple]]) -> NumberedTuples:
    number: dict[str, int] = {}
    rows: list[tuple[int, int, int]] = []
    for tuples in captions:
        for first, *rest in tuples:
            word = number.setdefault(first, len(number))
            if not rest:
                rows.append((word, -1, -1))
                continue
            second = number.setdefault(rest[0], len(number))
            relation = -1
            if len(rest) == 2:
                relation = number.setdefault(rest[1].removeprefix("be "), len(number))
            rows.append((word, second, relation))
    meanings = [sorted(meanings_of(word)) for word in number]
    return NumberedTuples(
        np.array(rows, np.int32).reshape(-1, 3),
        np.cumsum([0, *map(len, captions)], dtype=np.int64),
        np.array([synset for synsets in meanings for synset in synsets], np.int32),
        np.cumsum([0, *map(len, meanings)], dtype=np.int64),
        np.array([ATTRIBUTE_KINDS.index(kind_of_attribute(word)) for word in number], np.uint8),
    )
