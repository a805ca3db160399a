"""Why a caption has its scores, for its page."""

from __future__ import annotations

from html import escape
from pathlib import Path

from capeval import markup
from capeval.errors import CapevalError
from capeval.explained import explain
from capeval.metrics.tiger import Tiger
from capeval.registry import label
from capeval.report.blocks import HeatMaps
from capeval.report.drawings import drawings
from capeval.report.groundpage import MapWriter
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.types import Metric, Picture
from capeval.web.jobs import Job
from capeval.web.opening import captions_of
from capeval.web.orders import told
from capeval.web.scoring import Scorer


class Teller:
    """Tells of one caption of a job."""

    def __init__(self, job: Job, row: int, scorer: Scorer) -> None:
        rows = captions_of(job)
        self.caption, self.image = rows.captions[row], rows.images[row]
        self.references = self._references(job, row)
        self.metrics: list[Metric] = [each.metric for each in job.result.scored] if job.result else []
        tokenizer = job.order.tokenizer if job.order else job.result.tokenizer if job.result else "ptb"
        self.run: Run = scorer.run(tokenizer)
        images = job.order.images if job.order else {}
        self.picture_file: Path | None = images.get(self.image)
        self._scorer = scorer

    def _references(self, job: Job, row: int) -> tuple[str, ...]:
        if job.order is not None:
            return tuple(job.order.dataset[row].references)
        return tuple(job.result.references[row]) if job.result and job.result.references else ()

    @property
    def labels(self) -> list[str]:
        return [label(metric, metric.info.name) for metric in self.metrics]

    def place(self, score: str) -> int | None:
        """The metric that gives a score; of one that is scored alone too, whose parameters may be others."""
        name = score.partition("(")[0]
        found = [place for place, metric in enumerate(self.metrics) if name in metric.info.names]
        exact = [place for place in found if label(self.metrics[place], name) == score]
        return next(iter([*exact, *found]), None)

    @property
    def picture(self) -> Picture | None:
        if self.picture_file is None:
            return None
        found = self._scorer.features({self.image: self.picture_file}, self.run)
        return Picture(found, self.image) if found is not None else None

    def scores(self, caption: str) -> dict[str, float]:
        """Of a caption alone, by every metric of the job that can judge it."""
        found: dict[str, float] = {}
        for metric in self.metrics:
            if self._lacks(metric):
                continue
            found.update(self._alone(metric, caption))
        return found

    def _alone(self, metric: Metric, caption: str) -> dict[str, float]:
        from capeval.evaluate import evaluate
        from capeval.types import Dataset, Sample

        dataset = Dataset.from_samples([Sample("1", self.image, caption, self.references)])
        picture = self.picture
        dataset.features = picture.features if picture else None
        return evaluate(dataset, [metric.for_one_image()], self.run).scores

    def _lacks(self, metric: Metric) -> str:
        if "references" in metric.needs() and not self.references:
            return "it compares with references, and they are not here"
        if "pictures" in metric.needs() and self.picture_file is None:
            return "it looks at the picture, and it is not here"
        return ""

    def explanation(self, place: int, caption: str) -> str:
        """HTML: marked words, facts, the table of what was matched, and drawings."""
        metric = self.metrics[place]
        if lacks := self._lacks(metric):
            return f'<p class="quiet">Why cannot be told: {escape(lacks)}.</p>'
        try:
            found = explain(metric, caption, self.references, self.run, self.picture)
            return "".join([*self._drawn(metric, caption), markup.explanations(found.documents, folded=True)])
        except CapevalError as problem:
            return f'<p class="quiet">{escape(told(problem))}</p>'

    def _drawn(self, metric: Metric, caption: str) -> list[str]:
        tokens, *others = tokenize([caption, *self.references], self.run)
        parts = [
            f'<p class="quiet">{escape(each.title)}</p><div class="drawing" role="region" tabindex="0" '
            f'aria-label="{escape(each.title)}">{each.svg}</div>'
            for each in drawings(metric, tokens, others, self.run)
        ]
        if isinstance(metric, Tiger) and self.picture_file is not None:
            grounded = self._scorer.grounded(metric, self.image, self.picture_file, caption, self.references, self.run)
            parts.append(MapWriter().write(HeatMaps(grounded)))
        return parts
