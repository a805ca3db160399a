"""Captions that no person would take for better, and some metrics do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from capeval.perturb.transforms import other_images
from capeval.perturb.words import with_articles
from capeval.run import Run
from capeval.text.lexicon import function_words
from capeval.text.tokenize import tokenize
from capeval.types import Dataset

_NAMED = 20
ATTACKS = {
    "words twice": "every word twice in a row",
    "caption twice": "the caption twice",
    "caption five times": "the caption five times",
    "padded": "frequent words added until the caption is twice as long",
    "first half": "the first half of the words",
    "first word": "the first word alone",
    "off-topic": "the caption of a random other image",
    "off-topic added": "the caption, then that of a random other image",
    "everything": "one caption for all, of the twenty words that say most in all captions",
    "empty": "no word",
}


def attacked(base: Dataset, *, seed: int = 0, run: Run | None = None) -> dict[str, list[str | None]]:
    """The captions in each way of `ATTACKS`; None where there is no other image to take a caption from."""
    rng = np.random.default_rng(seed)
    words = tokenize(base.candidates, run)
    frequent = _frequent_words(words)
    number: dict[str, int] = {}
    image = [number.setdefault(name, len(number)) for name in base.images]
    first_of = {name: row for row, name in reversed(list(enumerate(base.images)))}
    others: list[str | None] = [None] * len(base)
    if len(number) > 1:
        # Any other image will do, so the vectors say nothing.
        chosen = other_images(np.zeros((len(number), 1)), 1.0, rng, of=image)
        images = list(number)
        others = [" ".join(words[first_of[images[place]]]) for place in chosen.tolist()]
    texts = [" ".join(each) for each in words]
    return {
        "words twice": [" ".join(word for word in each for _ in (1, 2)) for each in words],
        "caption twice": [" ".join([text] * 2) for text in texts],
        "caption five times": [" ".join([text] * 5) for text in texts],
        "padded": [" ".join(each + _padding(frequent, len(each))) for each in words],
        "first half": [" ".join(each[: (len(each) + 1) // 2]) for each in words],
        "first word": [" ".join(each[:1]) for each in words],
        "off-topic": others,
        "off-topic added": [None if other is None else f"{text} {other}" for text, other in zip(texts, others)],
        "everything": [_everything(words)] * len(base),
        "empty": [""] * len(base),
    }


def _everything(words: Sequence[Sequence[str]]) -> str:
    """A list of what pictures most often show: "a man and a dog and a ..."."""
    count = Counter(word for each in words for word in each if len(word) > 2 and word not in function_words())
    named = sorted(count, key=lambda word: (-count[word], word))[:_NAMED]
    return " and ".join(" ".join(with_articles(["a", word])) for word in named)


def _frequent_words(words: Sequence[Sequence[str]]) -> list[str]:
    """The ten most frequent words, which nearly every reference has some of."""
    count: dict[str, int] = {}
    for word in (word for each in words for word in each):
        count[word] = count.get(word, 0) + 1
    return sorted(count, key=lambda word: (-count[word], word))[:10]


def _padding(frequent: Sequence[str], length: int) -> list[str]:
    return [frequent[place % len(frequent)] for place in range(length)]
