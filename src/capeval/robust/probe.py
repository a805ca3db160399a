"""Other words for the same: synonyms, redundancy, word order (Kilickaya et al. 2017, table 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capeval.api import open_pictures
from capeval.io.files import PathLike
from capeval.robust.captionset import UNTOUCHED, Captions, Versions, caption_set
from capeval.robust.outcome import Outcome
from capeval.robust.scoring import Metrics, Scorer
from capeval.robust.synonyms import thesaurus
from capeval.robust.words import PLACE_PREPOSITIONS, REDUNDANT, with_articles
from capeval.text.lexicon import function_words
from capeval.text.tokenize import tokenize

VERSIONS = {
    "synonyms": "up to three words replaced by their nearest synonyms",
    "redundancy": "a phrase added that says nothing",
    "word order": "the last part, from a preposition on, moved to the front",
}
_REPLACED = 3
_SHOWN = 5


def probe(
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
    """How much scores change when captions say the same in another way.

    A version leaves captions out that it cannot change; its score is compared with that of the same captions
    untouched. Without candidates one reference of each image is held out.
    """
    scorer = Scorer(metrics, scores, threads, progress, note, open_pictures(images, features, threads))
    scorer.check()
    progress("changing captions")
    base = caption_set(candidates, references, seed=seed, sample=sample, note=note)
    rng = np.random.default_rng(seed)
    words = tokenize(base.candidates)
    phrases = [REDUNDANT[place] for place in rng.integers(len(REDUNDANT), size=len(words)).tolist()]
    changed = {
        "synonyms": [with_synonyms(each) for each in words],
        "redundancy": [" ".join([*each, phrase]) if each else None for each, phrase in zip(words, phrases)],
        "word order": [reordered(each) for each in words],
    }
    versions = Versions(base, changed)
    found = scorer.score(versions.dataset)
    by_version = {name: found.of_rows(places) for name, places in versions.places.items()}
    before = {name: found.of_rows(rows) for name, rows in versions.rows.items()}
    data: dict[str, Any] = {
        "kind": "robust-probe",
        "captions": len(base),
        "images": len(set(base.images)),
        "from": "references" if candidates is None else "candidates",
        "seed": seed,
        "versions": VERSIONS,
        "changed": {name: len(versions.rows[name]) for name in changed},
        "metrics": [
            {
                "metric": metric,
                "signature": signature,
                "untouched": by_version[UNTOUCHED][metric],
                "versions": {name: _change(before[name][metric], by_version[name][metric]) for name in changed},
            }
            for metric, signature in found.signatures.items()
        ],
        "examples": [
            {"id": base.ids[row], UNTOUCHED: base.candidates[row], **{name: changed[name][row] for name in changed}}
            for row in range(min(_SHOWN, len(base)))
        ],
    }
    return Outcome(data, versions.dataset, versions.tags())


def _change(before: float, after: float) -> dict[str, float]:
    return {
        "untouched": before,
        "score": after,
        "change": after - before,
        "relative": after / before if before > 0 else float("nan"),
    }


def with_synonyms(words: Sequence[str]) -> str | None:
    """The first few content words that have a near synonym, replaced by it; None if there is none."""
    result, count = list(words), 0
    for place, word in enumerate(words):
        if count < _REPLACED and len(word) > 2 and word not in function_words():
            others = [other for other in thesaurus().synonyms(word) if other not in result]
            if others:
                result[place], count = others[0], count + 1
    return " ".join(with_articles(result)) if count else None


def reordered(words: Sequence[str]) -> str | None:
    """What follows the first preposition of place goes to the front; None if there is none after the beginning."""
    for place in range(2, len(words) - 1):
        if words[place] in PLACE_PREPOSITIONS:
            return " ".join([*words[place:], *words[:place]])
    return None
