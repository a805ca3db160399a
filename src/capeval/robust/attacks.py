"""Captions that no person would take for better, and some metrics do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capeval.api import open_pictures
from capeval.io.files import PathLike
from capeval.robust.captionset import UNTOUCHED, Captions, Versions, caption_set
from capeval.robust.outcome import Outcome
from capeval.robust.scoring import Metrics, Scorer, Scores
from capeval.text.tokenize import tokenize
from capeval.text.transforms import other_images
from capeval.types import Dataset

ATTACKS = {
    "words twice": "every word twice in a row",
    "caption twice": "the caption twice",
    "caption five times": "the caption five times",
    "padded": "frequent words added until the caption is twice as long",
    "first half": "the first half of the words",
    "first word": "the first word alone",
    "off-topic": "the caption of a random other image",
    "off-topic added": "the caption, then that of a random other image",
    "empty": "no word",
}


def attacks(
    references: Captions,
    metrics: Metrics = None,
    *,
    candidates: Captions | None = None,
    seed: int = 0,
    sample: int | None = None,
    scores: Sequence[PathLike] = (),
    images: PathLike | None = None,
    features: PathLike | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
    note: Callable[[str], None] = lambda message: None,
) -> Outcome:
    """Scores of repeated, padded, cut, off-topic and empty captions, divided by the score of the untouched ones.

    `not_lower` is the percentage of captions that score as much as before, or more. Without candidates one reference
    of each image is held out.
    """
    scorer = Scorer(metrics, scores, threads, progress, note, open_pictures(images, features, threads))
    scorer.check()
    progress("changing captions")
    base = caption_set(candidates, references, seed=seed, sample=sample, note=note)
    versions = Versions(base, _changed(base, seed))
    found = scorer.score(versions.dataset)
    data = {
        "kind": "robust-attacks",
        "captions": len(base),
        "images": len(set(base.images)),
        "from": "references" if candidates is None else "candidates",
        "seed": seed,
        "attacks": ATTACKS,
        "metrics": [
            {
                "metric": metric,
                "signature": signature,
                "untouched": found.of_rows(versions.places[UNTOUCHED])[metric],
                "attacks": _measured(versions, found, metric),
            }
            for metric, signature in found.signatures.items()
        ],
    }
    return Outcome(data, versions.dataset, versions.tags())


def _changed(base: Dataset, seed: int) -> dict[str, list[str | None]]:
    rng = np.random.default_rng(seed)
    words = tokenize(base.candidates)
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
        "empty": [""] * len(base),
    }


def _frequent_words(words: Sequence[Sequence[str]]) -> list[str]:
    """The ten most frequent words, which nearly every reference has some of."""
    count: dict[str, int] = {}
    for word in (word for each in words for word in each):
        count[word] = count.get(word, 0) + 1
    return sorted(count, key=lambda word: (-count[word], word))[:10]


def _padding(frequent: Sequence[str], length: int) -> list[str]:
    return [frequent[place % len(frequent)] for place in range(length)]


def _measured(versions: Versions, found: Scores, metric: str) -> dict[str, Any]:
    values = found.per_caption[metric]
    measured = {}
    for name in versions.changed:
        rows, places = versions.rows[name], versions.places[name]
        before = found.of_rows(versions.places[UNTOUCHED][rows])[metric]
        after = found.of_rows(places)[metric]
        gap = values[places] - values[versions.places[UNTOUCHED][rows]]
        gap = gap[np.isfinite(gap)]
        measured[name] = {
            "score": after,
            "relative": after / before if before > 0 else float("nan"),
            "not_lower": 100 * float((gap >= 0).mean()) if len(gap) else float("nan"),
        }
    return measured
