"""CIDEr (Vedantam et al. 2015): similarity of tf-idf weighted n-grams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus, Ngrams, of_one
from capeval.errors import DataError, ExpressionError, TooFewImages
from capeval.run import Run
from capeval.text.stem import stem
from capeval.text.tokenize import TOKENISED
from capeval.types import Array, Dataset, Explanation, Frequencies, Info, Ints, Longs, Metric, Picture

if TYPE_CHECKING:
    from capeval.io.dftable import DfTable

ONE_IMAGE = "coco-val2014"
"""The table for captions that stand alone."""
CITATION = "Vedantam et al. 2015, CIDEr: Consensus-based Image Description Evaluation (CVPR)"


@dataclass(frozen=True)
class Cider(Metric):
    """`df`: where document frequencies come from: `corpus`, `coco-val2014` or the path of a table, ours or pickled."""

    n: int = 4
    df: str = "corpus"
    stem: bool = False

    info: ClassVar[Info] = Info(
        name="cider",
        names=("cider",),
        summary="cosine of tf-idf weighted n-grams, mean over references and orders, times 10",
        citation=CITATION,
        bounds=(0.0, 10.0),
        revision=2,
    )

    # CIDEr-D overrides these two.
    clip: ClassVar[bool] = False

    def penalty_width(self) -> float:
        return math.inf

    def __post_init__(self) -> None:
        if not 1 <= self.n <= 8:
            raise ExpressionError(f"{self.info.name}: n is {self.n}; it must be from 1 to 8")

    def stats(self, corpus: Corpus) -> Array:
        """One column for each order: mean similarity to the references."""
        whole = corpus.dataset.frequencies.get(self.stem)
        return self.stats_with(corpus, whole if self.df == "corpus" else load_table(self.df))

    def stats_with(self, corpus: Corpus, table: Frequencies | None) -> Array:
        """The same with a table that was read before; without one, document frequencies are those of the corpus."""
        grams = _stemmed_ngrams(corpus, self.n) if self.stem else corpus.ngrams(self.n)
        source = "" if table is None else table.digest
        weights = corpus.memo(("idf", self.n, source, self.stem), lambda: self.idf(corpus, grams, table))
        return corpus.engine.cider_stats(
            grams.ids,
            grams.counts,
            grams.gram_offsets,
            self.n,
            weights,
            corpus.rows,
            clip=self.clip,
            sigma=self.penalty_width(),
            threads=corpus.threads,
        )

    def per_sample(self, stats: Array) -> Array:
        return np.asarray(10.0 * stats.mean(axis=1, keepdims=True))

    def joinable(self) -> bool:
        return self.df != "corpus"

    def for_one_image(self) -> Metric:
        return replace(self, df=ONE_IMAGE) if self.df == "corpus" else self

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """What each n-gram weighs and adds. One caption is no corpus: its n-grams weigh what COCO's table says."""
        from capeval.metrics.cider_explain import explanation

        if self.df == "corpus":
            return replace(self, df=ONE_IMAGE).explain(candidate, references, run, picture)
        corpus, table = of_one(candidate, references, run), load_table(self.df)
        grams = _stemmed_ngrams(corpus, self.n) if self.stem else corpus.ngrams(self.n)
        weights = self.idf(corpus, grams, table).tolist()
        words = np.array([*(_stemmed_vocabulary(corpus) if self.stem else corpus.words.vocabulary), ""], object)
        idf = {tuple(filter(None, words[gram].tolist())): weight for gram, weight in zip(grams.grams, weights)}
        texts = [" ".join(tokens).split() for tokens in (candidate, *references)]
        ours, *theirs = [[stem(word) for word in each] for each in texts] if self.stem else texts
        score = float(self.per_sample(self.stats_with(corpus, table))[0, 0])
        facts: dict[str, str | float] = {
            self.info.name: score,
            "document frequencies": f"{self.df}, {table.images:,} images",
        }
        return [explanation(facts, ours, theirs, self.n, idf.__getitem__, self.clip, self.penalty_width())]

    def signature_extras(self, run: Run) -> dict[str, Any]:
        table = {} if self.df == "corpus" else {"table": load_table(self.df).digest[:12]}
        return {"stemmer": "porter2"} | table if self.stem else table

    def idf(self, corpus: Corpus, grams: Ngrams, table: Frequencies | None) -> Array:
        """Inverse document frequency of each n-gram of the corpus; an n-gram no image has counts as in one."""
        counts: Ints | Longs
        if table is None:
            images = len(corpus.dataset.reference_sets)
            if images < 2:
                raise TooFewImages(
                    f"{self.info.name} over one image is 0 for every caption, because no n-gram tells images apart. "
                    f"Use a table of document frequencies: {self.info.name}(df=coco-val2014), or one of your own made "
                    "with `capeval df`"
                )
            counts = _document_frequency(corpus, grams)
        else:
            self._refuse_unfit(table, corpus.run)
            vocabulary = _stemmed_vocabulary(corpus) if self.stem else corpus.words.vocabulary
            images, counts = table.images, table.counts(vocabulary, grams.grams)
        return np.asarray(math.log(images) - np.log(np.maximum(1.0, counts)))

    def _refuse_unfit(self, table: Frequencies, run: Run) -> None:
        wanted = {"tokenizer": run.tokenizer, "stem": self.stem, "n": self.n}
        found = {"tokenizer": table.tokenizer, "stem": table.stem, "n": table.n}
        # Whoever gives tokens knows best what they are.
        same_words = run.tokenizer in (TOKENISED, table.tokenizer)
        if not same_words or table.stem != self.stem or table.n < self.n:
            raise DataError(
                f"the document-frequency table {self.df} does not fit {self.info.name}: it has {found}, and {wanted} "
                "is needed. Make a fitting table with `capeval df`"
            )
        if table.images < 2:
            raise DataError(f"a table of document frequencies needs two images or more; {self.df} has {table.images}")


@dataclass(frozen=True)
class CiderD(Cider):
    """`sigma`: width of the length penalty; the rest as in `cider`."""

    sigma: float = 6.0

    info: ClassVar[Info] = Info(
        name="cider_d",
        names=("cider_d",),
        summary="CIDEr with clipped counts and a length penalty; what the COCO evaluation calls CIDEr",
        citation=CITATION,
        bounds=(0.0, 10.0),
        revision=2,
    )
    clip: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sigma > 0:
            raise ExpressionError(f"cider_d: sigma is {self.sigma}; it must be above 0")

    def penalty_width(self) -> float:
        return self.sigma


def load_table(source: str) -> DfTable:
    """A table by the name of a built-in one or by path."""
    from capeval.io.dftable import builtin_table

    is_path = "/" in source or source.endswith((".df", ".p", ".pkl")) or Path(source).exists()
    path = Path(source) if is_path else builtin_table(source)
    changed = path.stat().st_mtime_ns if path.exists() else 0
    return _read_table_once(str(path.absolute()), changed)


@lru_cache(maxsize=4)
def _read_table_once(path: str, changed: int) -> DfTable:
    """`changed` is when the file was: a table that was made again is read again."""
    from capeval.io.dfpickle import is_pickle, read_pickled_table
    from capeval.io.dftable import read_table

    return read_pickled_table(Path(path)) if is_pickle(Path(path)) else read_table(path)


def make_table(
    reference_sets: Sequence[tuple[str, ...]],
    *,
    n: int = 4,
    stem: bool = False,
    run: Run | None = None,
) -> DfTable:
    """The table of a reference collection: in how many images' references each n-gram occurs."""
    from capeval.io.dftable import table_from_counts

    run = run or Run()
    counted = count_documents(reference_sets, n=n, stem=stem, run=run)
    return table_from_counts(len(reference_sets), n, run.tokenizer, stem, *counted)


def count_documents(
    reference_sets: Sequence[tuple[str, ...]], *, n: int, stem: bool, run: Run
) -> tuple[list[str], Ints, Ints]:
    """A vocabulary, the n-grams as positions in it padded with -1, and with how many of the sets each occurs."""
    corpus = Corpus(Dataset([], [], [], reference_sets, []), run)
    grams = _stemmed_ngrams(corpus, n) if stem else corpus.ngrams(n)
    vocabulary = _stemmed_vocabulary(corpus) if stem else corpus.words.vocabulary
    return vocabulary, grams.grams, _document_frequency(corpus, grams)


def _document_frequency(corpus: Corpus, grams: Ngrams) -> Ints:
    _, _, group_offsets, group_captions = corpus.rows
    return corpus.engine.document_frequency(
        grams.ids, grams.gram_offsets, grams.n, group_offsets, group_captions, len(grams.grams), corpus.threads
    )


def _stemmed_vocabulary(corpus: Corpus) -> list[str]:
    return corpus.memo("stems", lambda: [stem(word) for word in corpus.words.vocabulary])


def _stemmed_ngrams(corpus: Corpus, n: int) -> Ngrams:
    def compute() -> Ngrams:
        first: dict[str, int] = {}
        number = np.array([first.setdefault(s, i) for i, s in enumerate(_stemmed_vocabulary(corpus))], np.int32)
        tokens = number[corpus.words.tokens] if len(number) else corpus.words.tokens
        return corpus.count_ngrams(tokens, n)

    return corpus.memo(("stemmed ngrams", n), compute)
