"""Candidates beside their references: every pair once, and means and bests of the right rows."""

from __future__ import annotations

import numpy as np

from capeval.corpus import Corpus
from capeval.metrics.beside import Beside
from capeval.types import Dataset, Sample


def test_pairs_and_what_is_made_of_them() -> None:
    rows = [("a dog", ("x", "y y")), ("a cat", ("x",)), ("a dog", ("x", "y y")), ("x", ("a dog", "x", "z z z"))]
    corpus = Corpus(Dataset.from_samples([Sample(str(i), str(i), *row) for i, row in enumerate(rows)]))
    beside = Beside.of(corpus)
    texts = [" ".join(words) for words in corpus.texts(np.arange(len(corpus.captions)))]
    pairs = [(texts[one], texts[other]) for one, other in zip(beside.one, beside.other)]
    assert len(pairs) == len(set(pairs)) == 6
    found = [
        [pairs[place] for place in beside.pair[begin:][:count]] for begin, count in zip(beside.begins, beside.counts)
    ]
    assert [sorted(each) for each in found] == [sorted((text, other) for other in others) for text, others in rows]
    values = np.array([float(len(one) * 10 + len(other)) for one, other in pairs])
    assert beside.means(values).tolist() == [52, 51, 52, (15 + 11 + 15) / 3]
    assert beside.best(values).tolist() == [53, 51, 53, 15]
