"""Monte Carlo samples of a corpus: sentences whose every three words follow each other somewhere in it.

They are fluent from word to word and make no sentence, and they have the corpus's own words: what a discriminator
needs, lest it go by words alone. A captioner's samples would need pictures, and a style has none.
"""

from __future__ import annotations

import numpy as np

from capeval.text.vocabulary import BOS, EOS, PAD, Ids
from capeval.types import Longs

# Now and then the next word follows one word, not two: else short sentences of a small corpus come out as they are.
_BY_ONE = 0.2


class Chain:
    """The next word by the last two, or by the last one, drawn as often as in the sentences."""

    def __init__(self, tokens: Ids, lengths: Longs, words: int) -> None:
        """Sentences [n, steps] that end with EOS; `words` is the size of the vocabulary."""
        rows = np.arange(tokens.shape[1]) < lengths[:, None]
        begin = np.full((len(tokens), 1), BOS, np.int64)
        before = np.concatenate([begin, tokens[:, :-1]], 1)
        two_before = np.concatenate([begin, before[:, :-1]], 1)
        one, two, following = before[rows], two_before[rows], tokens[rows].astype(np.int64)
        self._words = words
        self._by_two = _Table(two * words + one, following)
        self._by_one = _Table(one, following)

    def sample(self, count: int, most: int, random: np.random.Generator) -> tuple[Ids, Longs]:
        """So many sentences of at most `most` words [count, most + 1], and their lengths with EOS."""
        found = np.full((count, most + 1), PAD, np.int64)
        two, one = np.full(count, BOS, np.int64), np.full(count, BOS, np.int64)
        open_rows = np.arange(count)
        lengths = np.full(count, most + 1, np.int64)
        for step in range(most):
            key = two[open_rows] * self._words + one[open_rows]
            word = self._by_two.draw(key, random)
            by_one = random.random(len(open_rows)) < _BY_ONE
            word[by_one] = self._by_one.draw(one[open_rows][by_one], random)
            found[open_rows, step] = word
            lengths[open_rows[word == EOS]] = step + 1
            two[open_rows], one[open_rows] = one[open_rows], word
            open_rows = open_rows[word != EOS]
        found[open_rows, most] = EOS
        return found, lengths


class _Table:
    """What follows each key; a key that is asked for must be there."""

    def __init__(self, keys: Longs, values: Longs) -> None:
        order = np.argsort(keys, kind="stable")
        self._values = values[order]
        self._keys, self._begins = np.unique(keys[order], return_index=True)
        self._ends = np.append(self._begins[1:], len(order))

    def draw(self, keys: Longs, random: np.random.Generator) -> Longs:
        place = np.searchsorted(self._keys, keys)
        begin, end = self._begins[place], self._ends[place]
        return self._values[begin + (random.random(len(keys)) * (end - begin)).astype(np.int64)]
