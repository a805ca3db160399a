"""What a metric's score of one caption comes from, whatever the metric."""

from __future__ import annotations

from collections.abc import Sequence

from capeval.corpus import of_one
from capeval.run import Run
from capeval.types import Explanation, Metric, Picture, Word

# Differences below this are rounding, not what a word does.
_NOTHING = 1e-6


def explain(
    metric: Metric,
    candidate: Sequence[str],
    references: Sequence[Sequence[str]],
    run: Run,
    picture: Picture | None = None,
) -> list[Explanation]:
    """What the metric itself has to say; of one that says nothing, what each word does to the score."""
    if type(metric).explain is not Metric.explain:
        return metric.explain(candidate, references, run, picture)
    return [leave_one_out(metric, candidate, references, run, picture)]


def leave_one_out(
    metric: Metric,
    candidate: Sequence[str],
    references: Sequence[Sequence[str]],
    run: Run,
    picture: Picture | None = None,
) -> Explanation:
    """The score without each of the words, and so what the word adds to it, or takes off."""
    without = [[*candidate[:place], *candidate[place + 1 :]] for place in range(len(candidate))]
    corpus = of_one(candidate, references, run, picture, without)
    name, usual = metric.info.usual[0], metric.info.names.index(metric.info.usual[0])
    scores = metric.per_sample(metric.stats(corpus))
    score, *others = scores[:, usual].tolist()
    rows = [(word, other, score - other) for word, other in zip(candidate, others, strict=True)]
    facts = dict(zip(metric.info.names, scores[0].tolist(), strict=True))
    return Explanation(
        " / ".join(" ".join(each) for each in references),
        facts,
        ("word", f"{name} without it", "what it adds"),
        rows,
        weighed(candidate, [score - other for other in others]),
    )


def weighed(words: Sequence[str], weights: Sequence[float]) -> tuple[Word, ...]:
    """Words by what they add to a score."""
    return tuple(
        Word(word, "match" if weight > _NOTHING else "miss" if weight < -_NOTHING else "", weight, f"{weight:+.4f}")
        for word, weight in zip(words, weights, strict=True)
    )
