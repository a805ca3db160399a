"""Names and calls of `pycocoevalcap`, so that code written for it runs by changing its import lines.

    from capeval.compat import Bleu, Cider, Meteor, PTBTokenizer, Rouge  # instead of pycocoevalcap.bleu.bleu ..
    gts, res = PTBTokenizer().tokenize(gts), PTBTokenizer().tokenize(res)
    score, scores = Cider().compute_score(gts, res)

`gts` and `res` are dicts id -> list of captions that are tokenised already; scores come in the order of `gts`, as they
do there. `Cider` is CIDEr-D, as it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.errors import DataError
from capeval.evaluate import evaluate
from capeval.registry import parse
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.types import Dataset

Captions = Mapping[Any, Sequence[str]]


def compute_score(gts: Captions, res: Captions, metric: str = "cider_d") -> tuple[Any, Any]:
    """Corpus score and scores per image of any metric expression; lists of them where it gives several scores."""
    result = evaluate(_dataset(gts, res), [metric], Run(tokenizer="none"))
    scores, per_image = list(result.scores.values()), list(result.per_caption.values())
    return (scores, [each.tolist() for each in per_image]) if len(scores) > 1 else (scores[0], per_image[0])


class PTBTokenizer:
    """Tokenises dicts id -> [{"caption": text}, ...] (plain strings are fine as well) into id -> [tokens, ...]."""

    def tokenize(self, captions_for_image: Mapping[Any, Sequence[Any]]) -> dict[Any, list[str]]:
        texts = [
            entry["caption"] if isinstance(entry, Mapping) else entry
            for entries in captions_for_image.values()
            for entry in entries
        ]
        lines = iter(" ".join(tokens) for tokens in tokenize(texts))
        return {key: [next(lines) for _ in entries] for key, entries in captions_for_image.items()}


class _Scorer:
    def __init__(self, expression: str, name: str) -> None:
        parse(expression)  # report a bad parameter here, not at the first score
        self._expression, self._name = expression, name

    def compute_score(self, gts: Captions, res: Captions, verbose: int = 0) -> tuple[Any, Any]:
        return compute_score(gts, res, self._expression)

    def method(self) -> str:
        return self._name


class Bleu(_Scorer):
    def __init__(self, n: int = 4) -> None:
        if not 1 <= n <= 4:
            raise DataError(f"Bleu goes from 1 to 4, not to {n}")
        super().__init__("bleu", "Bleu")
        self._n = n

    def compute_score(self, gts: Captions, res: Captions, verbose: int = 0) -> tuple[list[float], list[list[float]]]:
        scores, per_image = super().compute_score(gts, res)
        return scores[: self._n], per_image[: self._n]


class Rouge(_Scorer):
    def __init__(self) -> None:
        super().__init__("rouge", "Rouge")


class Meteor(_Scorer):
    def __init__(self) -> None:
        super().__init__("meteor", "METEOR")


class Cider(_Scorer):
    def __init__(self, n: int = 4, sigma: float = 6.0) -> None:
        super().__init__(f"cider_d(n={n}, sigma={sigma})", "CIDEr")


def _dataset(gts: Captions, res: Captions) -> Dataset:
    if set(gts) != set(res):
        odd = [str(key) for key in set(gts) ^ set(res)]
        raise DataError(f"gts and res must have the same ids; {len(odd)} are in one only.", ids=sorted(odd))
    bare_text = [str(key) for each in (gts, res) for key, captions in each.items() if isinstance(captions, str)]
    if bare_text:
        raise DataError("gts and res must have a list of captions for each id, not a text.", ids=bare_text)
    several = [str(key) for key, captions in res.items() if len(captions) != 1]
    if several:
        raise DataError("res must have one caption for each id.", ids=several)
    bare = [str(key) for key, captions in gts.items() if not len(captions)]
    if bare:
        raise DataError("gts must have at least one caption for each id.", ids=bare)
    keys = [str(key) for key in gts]
    return Dataset(
        keys, keys, [res[key][0] for key in gts], [tuple(captions) for captions in gts.values()], range(len(keys))
    )
