"""Right caption or wrong one: how often metrics choose the right one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from capeval.bench import accuracy
from capeval.bench.agreement import Estimate
from capeval.bench.draws import image_draws
from capeval.bench.pairs import Pairs
from capeval.bench.robust.result import RobustnessResult
from capeval.bench.scoring import Scorer

_SHOWN = 3


def choices(
    kind: str,
    pairs: Pairs,
    scorer: Scorer,
    facts: Mapping[str, Any],
    *,
    order: Iterable[str],
    resamples: int,
    seed: int,
    within: Mapping[str, str] | None = None,
) -> RobustnessResult:
    """The accuracy of metrics by category, in percent with 95 % intervals; ties count one half.

    Results list the categories in the `order` given. `within` says which categories belong to a larger one: it has an
    accuracy too. The mean is over categories, the large ones where there are some.
    """
    pairs = replace(pairs, mean_of="categories")
    dataset = pairs.dataset()
    found = scorer.score(dataset)
    scorer.run.progress.step("resampling")
    weights = image_draws(pairs.images, resamples, seed)
    scores = {name: values[None] for name, values in found.per_caption.items()}
    measured = accuracy.accuracies(pairs, scores, weights)
    large = measured
    if within:
        merged = replace(pairs, categories=[within.get(name, name) for name in pairs.categories])
        large = accuracy.accuracies(merged, scores, weights)
    names = [name for name in order if name in pairs.categories]
    keys = [*names, *dict.fromkeys((within or {}).values()), "mean"]
    data: dict[str, Any] = {
        "kind": kind,
        "pairs": len(pairs.ids),
        "images": len(set(pairs.images)),
        "seed": seed,
        **facts,
        "categories": {name: list(pairs.categories).count(name) for name in names},
        "metrics": [
            {
                "metric": each.metric,
                "signature": found.signatures[each.metric],
                "rows": each.rows,
                "left_out": each.left_out,
                "ties": each.ties,
                **_estimates(keys, {**each.estimates, **its.estimates}),
            }
            for each, its in zip(measured, large)
        ],
        "examples": _examples(pairs),
    }
    tags = [
        {"pair": pairs.ids[pair], "category": pairs.categories[pair], "right": side == 0}
        for pair in range(len(pairs.ids))
        for side in (0, 1)
    ]
    return RobustnessResult(data, dataset, tags)


def _estimates(keys: Sequence[str], known: Mapping[str, Estimate]) -> dict[str, dict[str, float]]:
    return {key: known[key]._asdict() for key in keys if key in known}


def _examples(pairs: Pairs) -> list[dict[str, str]]:
    """The first few pairs of each category."""
    shown: dict[str, int] = {}
    found = []
    for row, category in enumerate(pairs.categories):
        if shown.setdefault(category, 0) < _SHOWN:
            shown[category] += 1
            found.append({"category": category, "right": pairs.first[row], "wrong": pairs.second[row]})
    return found
