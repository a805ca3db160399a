"""What every form of human judgements can do: say what it holds, and measure how well metrics agree with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from capeval.bench.draws import Draws, image_draws, smallest_p, usual_resamples
from capeval.bench.scoring import Scorer
from capeval.errors import CapevalError
from capeval.run import Run
from capeval.types import Array, Dataset

ScoresByMetric = Mapping[str, Array]
"""By metric, one score for each row; NaN where a metric has none."""


@dataclass(frozen=True)
class Settings:
    """How to run a benchmark; none of it changes what is scored, except the draws of references."""

    resamples: int | None = None
    """Of the bootstrap, for intervals and p-values; None for as many as can tell that number of metrics apart."""
    seed: int = 0
    draws: int = 5
    """How often references are drawn for a pair."""
    references: int | None = None
    """How many references to draw for a pair; None for what the protocol says."""
    ties: str = "half"
    combine: int = 0
    """The size of the largest combination of metrics to try."""
    chosen_on: Form | None = None
    """Judgements, with `chosen_by` to score their captions, by which combinations are chosen; None: by the same ones
    that they are measured with."""
    chosen_by: Scorer | None = None
    counts: tuple[int, ...] = ()
    """Numbers of references to measure the accuracy of pairs with."""


@dataclass(frozen=True)
class Part:
    """One way of running a benchmark, with the scores it was measured from."""

    form: Form
    scores: ScoresByMetric
    metrics: list[dict[str, Any]]
    comparisons: dict[str, Any]
    signatures: Mapping[str, str] = field(default_factory=dict)
    variant: str = ""


class NoCaptions(CapevalError):
    """A benchmark of systems whose captions are not public, so that no metric can score them."""


class Form(ABC):
    """Human judgements that a benchmark gives: `Ratings`, `Pairs` or `Systems`."""

    unused: ClassVar[tuple[str, ...]] = ()
    """Settings that the form has no use for."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many judgements there are."""

    @property
    @abstractmethod
    def distinct_images(self) -> list[str]:
        """The images whose captions were judged, each once."""

    @abstractmethod
    def captions(self) -> Dataset:
        """The captions that metrics score, with all their references."""

    def judged_by(self, name: str) -> Form:
        """The same captions with another kind of judgement, where people gave several."""
        raise CapevalError(f"people judged in one way only: there is no {name!r} to choose")

    def of_images(self, images: Container[str]) -> Form:
        """Only the judgements on captions of some images."""
        raise CapevalError("these judgements are not of captions of single images: none can be left out")

    @abstractmethod
    def measure(self, scorer: Scorer, settings: Settings) -> Part:
        """Scores the captions, and tells how well each metric agrees with people."""

    def details(self, scores: ScoresByMetric) -> dict[str, Any]:
        """What a report shows beside the numbers; small, whatever the size of the benchmark."""
        return {}

    def unused_settings(self, settings: Settings) -> list[str]:
        """What was set and the form has no use for."""
        usual = Settings()
        return [name for name in self.unused if getattr(settings, name) != getattr(usual, name)]


def draws_for(images: Sequence[str], metrics: int, settings: Settings, run: Run) -> Draws:
    """The resamples for a number of metrics that are compared with each other."""
    resamples = settings.resamples or usual_resamples(metrics)
    smallest = smallest_p(metrics, resamples)
    if metrics > 1 and smallest > 0.05:
        run.progress.note(
            f"{metrics} metrics and {resamples} resamples: no corrected p-value can be below "
            f"{smallest:.2g}. More resamples would tell more."
        )
    return image_draws(images, resamples, settings.seed, run.kept)
