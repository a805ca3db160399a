"""Names and calls of `pycocoevalcap`, so that code written for it runs by changing its import lines.

    from capeval.compat import Bleu, Cider, Meteor, PTBTokenizer, Rouge  # instead of pycocoevalcap.bleu.bleu ..
    gts, res = PTBTokenizer().tokenize(gts), PTBTokenizer().tokenize(res)
    score, scores = Cider().compute_score(gts, res)

`gts` and `res` are dicts id -> list of captions that are tokenised already; scores come in the order of `gts`, as they
do there. `Cider` is CIDEr-D, as it is there; it has a file of its own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capeval.compat.rows import Captions, Results, dataset_of
from capeval.errors import DataError
from capeval.evaluate import evaluate
from capeval.metrics.cider import Cider as CiderMetric
from capeval.metrics.spice import Spice as SpiceMetric
from capeval.registry import parse
from capeval.run import Run
from capeval.scene import COLUMNS
from capeval.text.tokenize import TOKENISED, tokenize
from capeval.types import Dataset


def compute_score(gts: Captions, res: Results, metric: str = "cider_d") -> tuple[Any, Any]:
    """Corpus score and scores per image of any metric expression; lists of them where it gives several scores."""
    dataset = dataset_of(gts, res)
    if is_one_image(parse(metric).metric, dataset):
        return 0.0, np.zeros(1)
    result = evaluate(dataset, [metric], Run(tokenizer=TOKENISED))
    scores, per_image = list(result.scores.values()), list(result.per_caption.values())
    return (scores, [each.tolist() for each in per_image]) if len(scores) > 1 else (scores[0], per_image[0])


def is_one_image(metric: Any, dataset: Dataset) -> bool:
    """Whether CIDEr has nothing to tell images apart by: the official tools give 0 then. So do we, with a warning."""
    alone = len(dataset) == 1 and isinstance(metric, CiderMetric) and metric.df == "corpus"
    if alone:
        warnings.warn(
            "CIDEr over one image is 0 whatever the caption, because no n-gram tells images apart. A table of document "
            'frequencies helps: Cider(df="coco-val2014")',
            stacklevel=3,
        )
    return alone


class PTBTokenizer:
    """Tokenises dicts id -> [{"caption": text}, ...] into id -> [tokens, ...].

    Plain strings are fine as well, and so are lists: of captions, or of lists of captions, whose ids are then 0, 1, ..

    What some versions are told when they are made (`"gts"`) changes nothing here.
    """

    def __init__(self, _source: str = "gts") -> None:
        pass

    @staticmethod
    def tokenize(captions_for_image: Mapping[Any, Sequence[Any]] | Sequence[Any]) -> dict[Any, list[str]]:
        if isinstance(captions_for_image, Mapping):
            by_id = captions_for_image
        else:
            by_id = {i: [c] if isinstance(c, str | Mapping) else c for i, c in enumerate(captions_for_image)}
        texts = [
            entry["caption"] if isinstance(entry, Mapping) else entry for entries in by_id.values() for entry in entries
        ]
        lines = iter(" ".join(tokens) for tokens in tokenize(texts))
        return {key: [next(lines) for _ in entries] for key, entries in by_id.items()}


class _Scorer:
    def __init__(self, expression: str, name: str) -> None:
        parse(expression)  # report a bad parameter here, not at the first score
        self._expression, self._name = expression, name

    def compute_score(self, gts: Captions, res: Results, verbose: int = 0) -> tuple[Any, Any]:
        return compute_score(gts, res, self._expression)

    def method(self) -> str:
        return self._name

    def __str__(self) -> str:
        return self._name.upper()


class Bleu(_Scorer):
    def __init__(self, n: int = 4) -> None:
        if not 1 <= n <= 4:
            raise DataError(f"Bleu goes from 1 to 4, not to {n}")
        super().__init__("bleu", "Bleu")
        self._n = n

    def compute_score(self, gts: Captions, res: Results, verbose: int = 0) -> tuple[list[float], list[list[float]]]:
        scores, per_image = super().compute_score(gts, res)
        return scores[: self._n], per_image[: self._n]


class Rouge(_Scorer):
    def __init__(self) -> None:
        super().__init__("rouge", "Rouge")
        self.beta = 1.2

    def compute_score(self, gts: Captions, res: Results, verbose: int = 0) -> tuple[Any, Any]:
        return compute_score(gts, res, f"rouge(beta={float(self.beta)!r})")

    def calc_score(self, candidate: Sequence[str], refs: Sequence[str]) -> float:
        """Of one image: a list with its caption, and its references."""
        score: float = self.compute_score({0: refs}, {0: candidate})[0]
        return score


class Meteor(_Scorer):
    def __init__(self) -> None:
        super().__init__("meteor", "METEOR")

    def compute_score(self, gts: Captions, res: Results, verbose: int = 0) -> tuple[float, list[float]]:
        score, per_image = super().compute_score(gts, res)
        return score, per_image.tolist()

    def close(self) -> None:
        """Nothing is open: there is no Java."""


class Spice(_Scorer):
    """`parses`: a file with the tuples of the captions; without it they are parsed."""

    def __init__(self, parses: str = "") -> None:
        super().__init__("spice", "SPICE")
        self._metric = SpiceMetric(parses=parses)

    def compute_score(self, gts: Captions, res: Results, verbose: int = 0) -> tuple[float, list[dict[str, Any]]]:
        """The mean F-score, and for each image `{"All": {"f": .., "pr": .., "re": .., "tp": ..}, "Object": .., ..}`.

        Images come sorted by id, as they do there. What the references say nothing of is NaN.
        """
        dataset = dataset_of(*_sorted(gts, res))
        result = evaluate(dataset, [self._metric], Run(tokenizer=TOKENISED))
        counts = result.scored[0].stats.reshape(len(dataset), len(COLUMNS), 3)
        per_image = [_spice_scores(row) for row in counts.tolist()]
        return float(np.mean([each["All"]["f"] for each in per_image])), per_image


def _sorted(gts: Captions, res: Results) -> tuple[Captions, Results]:
    try:
        return {key: gts[key] for key in sorted(gts)}, res
    except TypeError:  # ids of several kinds, which have no order and which the original refuses
        return gts, res


def _spice_scores(counts: list[list[float]]) -> dict[str, dict[str, float]]:
    by_kind = dict(zip(COLUMNS, counts))
    # Cardinalities, colors and sizes are attributes; the whole is objects, attributes and relations.
    matched, ours, theirs = (sum(column) for column in zip(*counts[:3]))
    order = ("relation", "cardinality", "attribute", "size", "color", "object")
    return {"All": _spice_entry(matched, ours, theirs, nothing=0.0)} | {
        k.capitalize(): _spice_entry(*by_kind[k]) for k in order
    }


def _spice_entry(matched: float, ours: float, theirs: float, nothing: float = math.nan) -> dict[str, float]:
    precision, recall, f = (matched / ours if ours else 0.0, matched / theirs, 0.0) if theirs else (nothing,) * 3
    if matched:
        f = 2 * precision * recall / (precision + recall)
    return {
        "pr": precision, "re": recall, "f": f, "tp": matched, "fp": ours - matched, "fn": theirs - matched,
        "numImages": 1.0,
    }  # fmt: skip
