"""Sentences that no person of the style wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from capeval.perturb.transforms import permuted, replaced
from capeval.text.vocabulary import EOS, PAD, SPECIALS, UNK, Ids, Vocabulary
from capeval.train.tasks.uice_syn.corpus import Sentence
from capeval.train.tasks.uice_syn.samples import Chain
from capeval.train.tasks.uice_syn.splices import Splices
from capeval.types import Longs

WP, RW, MC, MACHINE, OTHER, SPLICED = "wp", "rw", "mc", "machine", "other", "spliced"


class Negatives:
    """Draws negatives of each kind, as rows of numbers."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        sentences: Sequence[Sentence],
        given: Mapping[str, Sequence[Sentence]],
        words: int,
        tau: float,
    ) -> None:
        """`given`: machine captions and sentences of another style."""
        self.vocabulary, self.words, self.tau = vocabulary, words, tau
        self._sentences = sentences
        self._pool = vocabulary.spellings[len(SPECIALS) :]
        tokens, lengths = vocabulary.encode(sentences, words)
        self._chain = Chain(tokens, lengths, len(vocabulary))
        self._others = _of_known_words(vocabulary, given.get(OTHER, ()))
        given = {**given, OTHER: self._others} if OTHER in given else given
        self._given = {kind: vocabulary.encode(texts, words) for kind, texts in given.items()}
        self.unknown = float((tokens == UNK).sum() / max(1, lengths.sum() - len(lengths)))
        """How often a word of the corpus is not known."""

    @cached_property
    def _splices(self) -> Splices:
        return Splices(self._sentences, self._others, frozenset(self._pool))

    def has(self, kind: str) -> bool:
        """Whether there is anything to draw: some kinds need sentences that were given."""
        if kind == SPLICED:
            return bool(self._splices.endings)
        return kind in self._given or kind in (WP, RW, MC)

    def draw(self, kind: str, rows: Longs, random: np.random.Generator) -> tuple[Ids, Ids]:
        """A negative for each of some sentences: made of it, or of no sentence in particular."""
        if kind == MC:
            tokens, lengths = self._chain.sample(len(rows), self.words, random)
        elif kind in self._given:
            every, ends = self._given[kind]
            picked = random.integers(len(every), size=len(rows))
            tokens, lengths = every[picked], ends[picked]
        else:
            # Cut first: a word that changes behind the cut would change nothing.
            texts = [self._sentences[row][: self.words] for row in rows.tolist()]
            tokens, lengths = self.vocabulary.encode(self.changed(kind, texts, random), self.words)
        return self._with_unknown(tokens, random), lengths

    def changed(self, kind: str, texts: Sequence[Sentence], random: np.random.Generator) -> list[Sentence]:
        if kind == WP:
            return [permuted(words, self.tau, random) for words in texts]
        if kind == SPLICED:
            return [self._splices.splice(words, self.words, random) for words in texts]
        return [replaced(words, self.tau, self._pool, random) for words in texts]

    def hidden_word(self, tokens: Ids, lengths: Ids, random: np.random.Generator) -> Ids:
        """The same sentences, a random word of each unknown; those without words as they are."""
        found = tokens.copy()
        some = np.flatnonzero(lengths > 1)
        found[some, random.integers(lengths[some] - 1)] = UNK
        return found

    def _with_unknown(self, tokens: Ids, random: np.random.Generator) -> Ids:
        """Systems know few words, so that a word that is not known would be the sign of a person. It is put into
        negatives as often as the corpus has it: there, it is no rarer than in what people wrote."""
        is_word = (tokens != PAD) & (tokens != EOS)
        hidden = is_word & (random.random(tokens.shape) < self.unknown)
        return np.where(hidden, UNK, tokens)


def _of_known_words(vocabulary: Vocabulary, texts: Sequence[Sentence]) -> Sequence[Sentence]:
    """Those that have no unknown word, if there are any: another style has many words that the corpus has not, and
    what is not known would be taken for its sign."""
    return [text for text in texts if all(map(vocabulary.has, text))] or texts
