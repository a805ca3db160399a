"""Scoring for clients: one process for all of them, with models that are opened once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from capeval.documents import as_dict
from capeval.evaluate import evaluate
from capeval.metrics.grounding import CHECKPOINT
from capeval.metrics.tiger import Tiger
from capeval.results import Result
from capeval.run import Progress, Run
from capeval.runtime.encoder import Encoder
from capeval.runtime.grounding import Grounded, Grounder
from capeval.runtime.pictures import PictureFiles
from capeval.runtime.scan import open_scan
from capeval.types import Features, Selection
from capeval.web.jobs import Job, JobProgress


class Scorer:
    def __init__(self, threads: int, folder: Path) -> None:
        self._threads = threads
        self._folder = folder
        """Features of pictures that clients bring are kept here, and go with the server."""

    def run(self, tokenizer: str = "ptb", progress: Progress | None = None) -> Run:
        return Run(tokenizer, threads=self._threads, progress=progress or Progress())

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(None, self.run())

    def features(self, images: Mapping[str, Path], run: Run) -> Features | None:
        if not images:
            return None
        return PictureFiles(images, encoder=self._encoder, run=replace(run, cache=self._folder))

    def grounded(
        self, metric: Tiger, image: str, path: Path, caption: str, references: Sequence[str], run: Run
    ) -> Grounded:
        """Where in the picture captions and their words lie, as the metric's model sees it."""
        quiet = replace(run, cache=self._folder)
        wanted = metric.checkpoint or CHECKPOINT
        encoder = str(open_scan(wanted, run).checkpoint.facts.get("encoder", ""))
        features = self.features({image: path}, run) if encoder == self._encoder.name else None
        grounder = Grounder({image: path}, checkpoint=wanted, features=features, run=quiet)
        return grounder.ground(image, caption, [text for text in references if grounder.reads(text)])

    def score(self, job: Job) -> None:
        """Into the job, metric by metric."""
        order = job.order
        assert order is not None
        run = self.run(order.tokenizer, JobProgress(job))
        dataset = order.dataset
        dataset.features = self.features(order.images, run)
        chosen = None if order.metrics is None else [label for each in order.metrics for label in expressions(each)]

        def so_far(result: Result) -> None:
            job.check()
            job.result = result
            job.changes += 1

        result = evaluate(dataset, chosen, run, so_far=so_far)
        # To be computed here, and not while the server should answer others.
        _ = result.per_caption, result.scores
        job.result = result


def expressions(selection: Selection) -> list[str]:
    """That name a selection again."""
    from capeval.registry import label

    return [label(selection.metric, name) for name in selection.names]


def answer(job: Job, *, captions: bool = False) -> dict[str, Any]:
    """The result as JSON: that of `capeval score --format json`, and more where it was asked for."""
    assert job.result is not None
    result, order = job.result, job.order
    document = as_dict(result.document(result.ranges() if order and order.intervals else None))
    if captions or (order and order.per_caption):
        document["captions"] = list(result.records())
    if job.notes:
        document["notes"] = list(job.notes)
    return document
