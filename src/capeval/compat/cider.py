"""CIDEr as several code bases call it: pycocoevalcap, pyciderevalcap, and those that train with it as a reward.

reward = CiderD(df="coco-train-idxs")            # read once: data/coco-train-idxs.p, or any table of ours
score, scores = reward.compute_score(gts, res)   # as often as you like
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from capeval.compat.pycocoevalcap import is_one_image
from capeval.compat.rows import Captions, Results, dataset_of
from capeval.corpus import Corpus
from capeval.io.dftable import DfTable
from capeval.metrics.cider import Cider as CiderMetric
from capeval.metrics.cider import CiderD as CiderDMetric
from capeval.metrics.cider import load_table, make_table
from capeval.run import Run
from capeval.text.tokenize import TOKENISED
from capeval.types import Array


class _Cider:
    """`df`: `corpus`, the name or path of a table, of which `data/NAME.p` is one."""

    def __init__(self, metric: CiderMetric, name: str, df: str, gts: Captions | None = None) -> None:
        self._metric, self._name, self._table = replace(metric, df=_place(df)), name, None
        if gts:
            self._table = _table_of(gts, metric.n)
        elif df != "corpus":
            self._table = load_table(self._metric.df)

    def compute_score(self, gts: Captions, res: Results, verbose: int = 0) -> tuple[float, Array]:
        """The mean, and the score of each row: in the order of `gts`, or in that of `res` where it is a list."""
        dataset = dataset_of(gts, res)
        if self._table is None and is_one_image(self._metric, dataset):
            return 0.0, np.zeros(1)
        corpus = Corpus(dataset, Run(tokenizer=TOKENISED))
        scores = self._metric.per_sample(self._metric.stats_with(corpus, self._table))[:, 0]
        return float(np.mean(scores)), scores

    def method(self) -> str:
        return self._name

    def __str__(self) -> str:
        return self._name


class Cider(_Cider):
    """CIDEr-D, which pycocoevalcap calls CIDEr. `Cider(gts)` takes document frequencies from those references.

    `test` and `refs` have no meaning, there as here.
    """

    def __init__(
        self,
        gts: Captions | int | None = None,
        refs: Any = None,
        n: int = 4,
        sigma: float = 6.0,
        *,
        df: str = "corpus",
        test: Any = None,
    ) -> None:
        n = gts if isinstance(gts, int) else n
        table = gts if isinstance(gts, Mapping) else None
        super().__init__(CiderDMetric(n=n, sigma=sigma), "CIDEr", df, table)


class CiderD(_Cider):
    """CIDEr-D as pyciderevalcap calls it."""

    def __init__(self, n: int = 4, sigma: float = 6.0, df: str = "corpus") -> None:
        super().__init__(CiderDMetric(n=n, sigma=sigma), "CIDEr-D", df)


class PlainCider(_Cider):
    """CIDEr without clipping and length penalty: what pyciderevalcap, but not pycocoevalcap, calls `Cider`."""

    def __init__(self, n: int = 4, df: str = "corpus") -> None:
        super().__init__(CiderMetric(n=n), "CIDEr", df)


def _table_of(gts: Captions, n: int) -> DfTable:
    return make_table([tuple(captions) for captions in gts.values()], n=n, run=Run(tokenizer=TOKENISED))


def _place(df: str) -> str:
    """Where pyciderevalcap looks for a table, if there is one; else the name or path of a table of ours."""
    pickled = Path("data") / f"{df}.p"
    return df if Path(df).exists() or not pickled.is_file() else str(pickled)
