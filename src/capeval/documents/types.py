"""The types behind the JSON that commands print and keep.

Numbers that do not exist are null. What has a default here is left out of the JSON where there is none of it.

Some rows have a key for each statistic, category or variant. Here they are gathered in one field (`estimates`,
`measures`, `tags`); in the JSON they stand beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Count = Annotated[int, Meta(ge=0, lt=2**53)]
Number = float | None
"""A number that may not exist."""
Matrix = list[list[Number]]


class Part(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Of a document."""


class Document(Part, kw_only=True, frozen=True, tag_field="schema", tag=""):
    command: str | None = None
    """The command that made it, as it could be typed again."""


# Scores ---------------------------------------------------------------------------------------------------------------


class Limits(Part, kw_only=True, frozen=True):
    """A 95 % interval."""

    low: float
    high: float


class SystemScores(Part, kw_only=True, frozen=True):
    n: Count
    scores: dict[str, Number]
    intervals: dict[str, Limits] | None = None


class ScoreDocument(Document, kw_only=True, frozen=True, tag="capeval.score/1"):
    """Of `capeval score` and `capeval join`."""

    n: Count
    scores: dict[str, Number]
    signatures: dict[str, str]
    systems: dict[str, SystemScores] | None = None
    """Where the captions come from several; the intervals are theirs then."""
    intervals: dict[str, Limits] | None = None


class Difference(Part, kw_only=True, frozen=True):
    """Two systems' scores of one kind, and whether they differ."""

    a: Number
    b: Number
    difference: Number
    low: Number
    high: Number
    p_bootstrap: Number
    p_permutation: Number


class CompareDocument(Document, kw_only=True, frozen=True, tag="capeval.compare/1"):
    """Of `capeval compare`."""

    n: Count
    comparisons: dict[str, Difference]
    signatures: dict[str, str]
    a: str | None = None
    """What the first system is called, such as the name of its file."""
    b: str | None = None


# Explanations ---------------------------------------------------------------------------------------------------------


class MarkedWord(Part, kw_only=True, frozen=True):
    """A word of a caption, and what a metric makes of it."""

    text: str
    fate: str = ""
    """`match`, `near`, `miss`, or nothing where it does not count."""
    weight: Number = None
    """What it adds to the score, below 0 what it takes off."""
    note: str = ""


class ExplanationDocument(Document, kw_only=True, frozen=True, tag="capeval.explain/1"):
    """Of `capeval explain`, which prints a list of them: for all references or for each, and for parts of a metric."""

    metric: str
    """The metric, or the part of it, that this is about."""
    scores: dict[str, Number] = {}
    """Of the caption, all references taken together; parts have theirs among the facts."""
    reference: str
    facts: dict[str, str | float | int]
    rows: list[dict[str, str | float | int | list[str]]]
    candidate_words: list[MarkedWord] = []
    reference_words: list[MarkedWord] = []

    def totals(self) -> list[tuple[str, Number]]:
        """The scores; one that is named as the metric needs no name again."""
        return [("" if name == self.metric else name, value) for name, value in self.scores.items()]

    def further(self) -> dict[str, str | float | int]:
        """The facts that the scores do not tell."""
        told = {(name.partition("(")[0], value) for name, value in self.scores.items()}
        return {name: value for name, value in self.facts.items() if (name, value) not in told}


# Benchmarks -----------------------------------------------------------------------------------------------------------


class Estimate(Part, kw_only=True, frozen=True):
    """A number with its 95 % interval."""

    value: Number
    low: Number
    high: Number
    p: Number | UnsetType = UNSET
    spread: Number | UnsetType = UNSET
    """Of percentages: the standard deviation over the draws of references."""
    n: Count | UnsetType = UNSET
    """Of percentages: the pairs that the metric has scored."""

    @property
    def is_percentage(self) -> bool:
        return self.spread is not UNSET


class MetricRow(Part, kw_only=True, frozen=True):
    """How well one metric agrees with people, or how often it prefers the right caption."""

    metric: str
    signature: str | None = None
    rows: Count
    left_out: Count
    ties: int | float | None = None
    estimates: dict[str, Estimate] = {}
    measures: dict[str, dict[str, Estimate]] = {}
    """By measure of the people's verdict, such as `m1`, where there are several."""
    mean_judgement: dict[str, Number] | None = None
    """The agreement with the mean judgement of each caption."""
    system_level: dict[str, Number] | None = None
    """The correlation of systems' scores with their mean judgement, and how many `systems` there are."""
    worst_kind: str | None = None
    """The kind of pairs with the lowest accuracy."""
    seen: list[str] | None = None
    """The data of the benchmark that the metric was trained on: the row is no test."""
    best: bool | None = None
    """Whether it is the best metric, or cannot be told apart from it."""
    tags: dict[str, str] = {}
    """The variant of the benchmark, by the name of what varies."""

    def flat(self) -> dict[str, Estimate]:
        """All estimates; those of several measures under names such as `m1 pearson`."""
        deep = {f"{measure} {key}": each for measure, some in self.measures.items() for key, each in some.items()}
        return self.estimates | deep


class Combination(Part, kw_only=True, frozen=True):
    """Metrics scaled to [0, 1] and added. Of the best ones and the single metrics there are intervals."""

    metrics: list[str]
    value: Number
    chosen: Number = None
    """The value on the benchmark that it was chosen on, where that is another one."""
    low: Number = None
    high: Number = None
    p_williams: Number = None
    """Williams' test against the best single metric."""


class ByReferences(Part, kw_only=True, frozen=True):
    """The accuracy of each metric with each number of references."""

    counts: Annotated[list[int], Meta(min_length=1)]
    mean: dict[str, list[Number]]
    categories: dict[str, dict[str, list[Number]]] = {}
    """By category of the pairs."""
    lost: dict[str, Estimate] = {}
    """What the mean loses from the most references to the fewest."""

    def __post_init__(self) -> None:
        for curves in (self.mean, *self.categories.values()):
            _check_lengths(curves, len(self.counts), "number of references")


class Comparisons(Part, kw_only=True, frozen=True):
    """Metrics against each other; a matrix has a row and a column for each of `names`."""

    statistic: str = ""
    names: list[str]
    draws: Count | None = None
    resamples: Count | None = None
    """That intervals and p-values come from."""
    p_bootstrap_holm: Matrix | None = None
    p_williams: Matrix | None = None
    spearman_between_metrics: Matrix | None = None
    by_references: ByReferences | None = None
    combinations: list[Combination] | None = None
    chosen_on: str | None = None
    """The benchmark that combinations were chosen on, if it is another one."""
    papers: list[str] = []
    """Those whose tables were made in the same way, so that these numbers can stand beside theirs."""
    tags: dict[str, str] = {}

    def __post_init__(self) -> None:
        for matrix in (self.p_bootstrap_holm, self.p_williams, self.spearman_between_metrics):
            if matrix is not None and [len(self.names)] * len(self.names) != [len(row) for row in matrix]:
                raise ValueError("a matrix needs a row and a column for each of the names")


class Shape(Part, kw_only=True, frozen=True):
    """How numbers lie: quantiles (5, 25, 50, 75 and 95 %), and the share in each of some bins of equal width."""

    rows: Count
    mean: float
    quantiles: Annotated[list[float], Meta(min_length=5, max_length=5)]
    shares: Annotated[list[float], Meta(min_length=1)]


class Grade(Shape, kw_only=True, frozen=True):
    grade: str | float


class Distribution(Part, kw_only=True, frozen=True):
    """A metric's scores of captions that people gave the same grade; the bins go from `low` to `high`."""

    low: float
    high: float
    open: bool | None = None
    """Whether there are scores above `high`; documents of older versions do not say."""
    grades: list[Grade]

    def __post_init__(self) -> None:
        _check_order(self.low, self.high)


class Errors(Shape, kw_only=True, frozen=True):
    """How far a metric is from people's grades; the bins go from `low` to `high`."""

    low: float
    high: float
    mean_absolute: float
    differences: dict[str, float] = {}
    """By the number of whole grades that the metric is above people (`-1` for one below), the share of judgements."""

    def __post_init__(self) -> None:
        _check_order(self.low, self.high)


class Misjudged(Part, kw_only=True, frozen=True):
    """A caption that a metric and people see differently, or both alike: one with grades (`people`, `grade`), or one of
    a pair."""

    metric: str
    direction: str | None = None
    """Of one with grades: whether the metric's is `above` people's, `below` or `equal`."""
    id: str
    image: str
    category: str | None = None
    caption: str
    other: str | None = None
    """The caption of the pair that people do not prefer, and the metric does."""
    score: Number
    other_score: float | None = None
    people: float | None = None
    grade: float | None = None
    references: list[str]

    def __post_init__(self) -> None:
        if self.other is None and (self.people is None or self.grade is None):
            raise ValueError("an example needs `people` and `grade`, or `other` where it is a pair")


class Analysis(Part, kw_only=True, frozen=True):
    """What lies behind the numbers of one part of a benchmark."""

    signatures: dict[str, str] | None = None
    distributions: dict[str, Distribution] | None = None
    errors: dict[str, Errors] | None = None
    examples: list[Misjudged] | None = None
    tags: dict[str, str] = {}


class BenchDocument(Document, kw_only=True, frozen=True, tag="capeval.bench/1"):
    """Of `capeval bench run`. Each variant is a part: its rows have its tags, and it has one of the `comparisons`."""

    benchmark: str
    rows: Count
    metrics: list[MetricRow]
    comparisons: list[Comparisons]
    analysis: list[Analysis] = []
    citation: str = ""
    human: str | None = None
    """The kind of judgement, where one of several was chosen."""
    purpose: str | None = None
    """What the benchmark is for: figures on one that is not for `test` are none."""
    pictures: Count | None = None
    """Images whose picture was found, where metrics looked at pictures."""
    pictured: bool = False
    """Whether all metrics were measured on the rows whose picture was there, and on no others."""


# Leaderboard ----------------------------------------------------------------------------------------------------------


class BoardColumn(Part, kw_only=True, frozen=True):
    """One way of running a benchmark, and the statistic that it is known for."""

    name: str
    benchmark: str
    variant: str
    statistic: str
    rows: Count
    resamples: Count
    summary: str = ""
    citation: str = ""

    @property
    def digits(self) -> int:
        """Percentages need fewer than correlations."""
        return 1 if self.statistic == "mean" else 3


class BoardCell(Part, kw_only=True, frozen=True):
    """A metric on a benchmark; without a value where it has seen the benchmark, and `seen` says what of it."""

    value: Number
    low: Number = None
    high: Number = None
    rows: Count | None = None
    left_out: Count | None = None
    best: bool = False
    """The best metric on this benchmark, or one that cannot be told apart from it."""
    seen: list[str] | None = None


class BoardRow(Part, kw_only=True, frozen=True):
    metric: str
    cells: dict[str, BoardCell]
    """By name of the column."""


class Quoted(Part, kw_only=True, frozen=True):
    """Somebody else's figure, as it was published."""

    column: str
    metric: str
    value: float
    source: str
    note: str = ""


class LeaderboardDocument(Document, kw_only=True, frozen=True, tag="capeval.leaderboard/1"):
    """Of `capeval bench all`: metrics by benchmarks, measured and quoted."""

    columns: list[BoardColumn]
    metrics: list[BoardRow]
    quoted: list[Quoted]
    left_out: dict[str, str]
    """Benchmarks that are not in it, and why."""

    def __post_init__(self) -> None:
        known = {column.name for column in self.columns}
        named = {name for row in self.metrics for name in row.cells} | {each.column for each in self.quoted}
        if unknown := sorted(named - known):
            raise ValueError(f"there is no column {', '.join(unknown)}")


# Robustness -----------------------------------------------------------------------------------------------------------


class RobustDocument(Document, kw_only=True, frozen=True, tag="capeval.robust/1"):
    """What all checks of `capeval robust` have."""

    arguments: dict[str, Any] | None = None
    images: Count
    from_: str | None = msgspec.field(name="from", default=None)
    """Which captions were changed: `references` or `candidates`."""
    seed: int


class Curve(Part, kw_only=True, frozen=True):
    scores: list[Number]
    normalised: list[Number]
    R: Number


class CurveRow(Part, kw_only=True, frozen=True):
    metric: str
    signature: str
    untouched: Number
    curves: dict[str, Curve]


class CurvesDocument(RobustDocument, kw_only=True, frozen=True):
    """Captions that get worse step by step."""

    kind: Literal["robust-curves"]
    captions: Count
    neighbours: str | None = None
    transforms: dict[str, str]
    gammas: Annotated[list[float], Meta(min_length=1)]
    metrics: list[CurveRow]

    def __post_init__(self) -> None:
        for row in self.metrics:
            if missing := [name for name in self.transforms if name not in row.curves]:
                raise ValueError(f"{row.metric} has no curve for {', '.join(missing)}")
            _check_lengths({name: each.normalised for name, each in row.curves.items()}, len(self.gammas), "gamma")


class Choice(Part, kw_only=True, frozen=True):
    category: str
    right: str
    wrong: str


class ChoicesDocument(RobustDocument, kw_only=True, frozen=True):
    """The right caption against a wrong one."""

    kind: Literal["robust-distractors", "robust-components"]
    pairs: Count
    parser: str | None = None
    components: dict[str, str] | None = None
    categories: dict[str, Count]
    metrics: list[MetricRow]
    examples: list[Choice] | None = None


class Change(Part, kw_only=True, frozen=True):
    """The score of captions said in another way, and of the same ones untouched."""

    untouched: Number
    score: Number
    change: Number | UnsetType = UNSET
    relative: Number


class ChangeRow(Part, kw_only=True, frozen=True):
    metric: str
    signature: str
    untouched: Number
    versions: dict[str, Change]


class ProbeDocument(RobustDocument, kw_only=True, frozen=True):
    """The same in other words."""

    kind: Literal["robust-probe"]
    captions: Count
    versions: dict[str, str]
    changed: dict[str, Count]
    metrics: list[ChangeRow]
    examples: list[dict[str, str | None]] | None = None


class Attack(Part, kw_only=True, frozen=True):
    score: Number
    relative: Number
    not_lower: Number


class AttackRow(Part, kw_only=True, frozen=True):
    metric: str
    signature: str
    untouched: Number
    attacks: dict[str, Attack]


class AttacksDocument(RobustDocument, kw_only=True, frozen=True):
    """Captions that no person would take for better."""

    kind: Literal["robust-attacks"]
    captions: Count
    attacks: dict[str, str]
    metrics: list[AttackRow]


def _check_order(low: float, high: float) -> None:
    if not low < high:
        raise ValueError(f"`low` must be below `high`: {low:g} and {high:g}")


def _check_lengths(lists: Mapping[str, Sequence[Any]], length: int, what: str) -> None:
    for name, values in lists.items():
        if len(values) != length:
            raise ValueError(f"{name} needs one number for each {what}: {length}, not {len(values)}")
