"""Scoring Arrow batches: `capeval.score_stream`, and the callable that goes into the maps of other engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from capeval.errors import CapevalError, DataError
from capeval.io.files import PathLike, import_pyarrow
from capeval.run import Run
from capeval.stream.filters import Filter
from capeval.stream.forms.parquet import ArrowRows, binary_columns, with_scores
from capeval.stream.names import Names
from capeval.stream.scorer import Scorer
from capeval.stream.selecting import lookup_in
from capeval.types import Features, Metric


def score_stream(
    batches: Iterable[Any],
    metrics: str | Metric | Iterable[str | Metric],
    *,
    references: Any = None,
    images: PathLike | None = None,
    features: PathLike | Features | None = None,
    columns: Mapping[str, str] | None = None,
    filter: str | None = None,
    on_error: str = "skip",
    tokenizer: str = "ptb",
    threads: int | None = None,
) -> Iterator[Any]:
    """Scores batches of rows one after the other: each comes back with a column for each score.

    `batches`: record batches or tables of Arrow, or dicts of columns; what comes back is of the same kind.
    `references`, `images`, `features`: as in `capeval.score`, for rows that have no references or pictures themselves.
    `columns`: which column has the `caption`, the `references`, the id of the `image` and its `picture` (bytes, or a
    path), where they are not called so.
    `filter`: keep the rows that pass, such as "rouge_l > 0.3 and length < 60".
    `on_error`: rows that cannot be scored have no scores ("skip"), or are an error ("fail").

    Metrics that depend on all rows together are refused: CIDEr needs a table, `cider_d(df=coco-val2014)`.
    """
    scorer = BatchScorer(
        metrics,
        references=references,
        images=images,
        features=features,
        columns=columns,
        filter=filter,
        on_error=on_error,
        tokenizer=tokenizer,
        threads=threads,
    )
    return map(scorer, batches)


class BatchScorer:
    """`score_stream` for one batch at a time, as `map_batches`, `mapInArrow` and `datasets.map` call it."""

    def __init__(
        self,
        metrics: str | Metric | Iterable[str | Metric],
        *,
        references: Any = None,
        images: PathLike | None = None,
        features: PathLike | Features | None = None,
        columns: Mapping[str, str] | None = None,
        filter: str | None = None,
        on_error: str = "skip",
        tokenizer: str = "ptb",
        threads: int | None = None,
    ) -> None:
        import_pyarrow()
        if on_error not in ("fail", "skip"):
            raise CapevalError(f"on_error is {on_error!r}; it must be fail or skip")
        usual = Run(tokenizer)
        self._names, self._on_error, self._row = Names(**(columns or {})), on_error, 0
        self._filter, self._fits = Filter(filter) if filter else None, False
        self._scorer = Scorer(
            [metrics] if isinstance(metrics, (str, Metric)) else metrics,
            references=references,
            images=images,
            features=features,
            run=replace(usual, threads=threads or usual.threads),
        )

    def __call__(self, batch: Any) -> Any:
        arrow, _ = import_pyarrow()
        if isinstance(batch, Mapping):
            return self(arrow.table(dict(batch))).to_pydict()
        rows = ArrowRows(batch, self._row)
        self._row += len(rows)
        names = self._names.found_in(batch.schema.names, binary_columns(batch.schema))
        if not self._fits:
            self._scorer.fit(names)
            self._fits = True
        scores = self._scorer.score(self._scorer.block(rows, names))
        if scores.failures and self._on_error == "fail":
            row, reason = next(iter(scores.failures.items()))
            raise DataError(f"row {rows.begin + row} cannot be scored: {reason}")
        scored = with_scores(batch, scores.columns)
        if self._filter is None:
            return scored
        passed = self._filter(lookup_in(rows, batch.schema.names, scores), len(rows))
        return scored.filter(arrow.array(passed))
