"""The few forms that everything else passes around.

One candidate caption is one row everywhere: row i of a dataset is row i of every array made from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from capeval.corpus import Corpus
    from capeval.run import Run

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int16]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]


class Rows(NamedTuple):
    """Which caption each row judges, and by which captions; the engine's view of a dataset."""

    candidate: Ints
    group: Ints
    group_offsets: Longs
    group_captions: Ints


class Features(Protocol):
    """Features of the pictures that captions are about, by image id; read or made when they are asked for."""

    @property
    def encoder(self) -> str:
        """What made the features, as `lite0/7878a0d1b80f`; empty for features that a user brings."""

    @property
    def digest(self) -> str: ...

    def __contains__(self, image: object) -> bool: ...

    def by(self, encoder: str) -> Features:
        """The same pictures as another encoder sees them, where that can be told; else these features."""

    def contents(self, images: Sequence[str]) -> list[str]:
        """For each image a text that is another one where its picture, or its features, are others."""

    def vectors(self, images: Sequence[str]) -> Floats:
        """[n, d]"""

    def regions(self, images: Sequence[str]) -> Floats:
        """[n, r, e]; a region's vector may have another length than a picture's."""

    def boxes(self, images: Sequence[str]) -> Floats | None:
        """[n, r, 4]: where each region is, if that is known."""


class Frequencies(Protocol):
    """With how many of some images each n-gram occurs."""

    @property
    def images(self) -> int: ...
    @property
    def n(self) -> int:
        """The highest order."""

    @property
    def tokenizer(self) -> str: ...
    @property
    def stem(self) -> bool: ...
    @property
    def digest(self) -> str: ...

    def counts(self, vocabulary: Sequence[str], grams: Ints) -> Longs:
        """Of n-grams that are positions in `vocabulary`, padded with -1."""


class Picture(NamedTuple):
    """One picture, for who looks at no more than that."""

    features: Features
    image: str
    """Its id in the features."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One candidate caption with what it is judged by."""

    id: str
    image: str
    candidate: str
    references: tuple[str, ...] = ()
    system: str = ""


class Dataset(Sequence[Sample]):
    """Rows held as columns. Reference sets are stored once and shared by the rows that use them.

    `group[i]` is the index in `reference_sets` of row i's references. A reference set stands for one image:
    document frequencies count it once, however many candidates the image has. `features` has the features of the
    images, where somebody gave pictures. `frequencies` has the document frequencies of the whole, with words (False) or
    with their stems (True), where these rows are a part of it.
    """

    __slots__ = ("candidates", "features", "frequencies", "group", "ids", "images", "reference_sets", "systems")

    def __init__(
        self,
        ids: Sequence[str],
        images: Sequence[str],
        candidates: Sequence[str],
        reference_sets: Sequence[tuple[str, ...]],
        group: Sequence[int] | Ints,
        systems: Sequence[str] | None = None,
        features: Features | None = None,
        frequencies: Mapping[bool, Frequencies] | None = None,
    ) -> None:
        self.ids, self.images, self.candidates = list(ids), list(images), list(candidates)
        self.reference_sets = list(reference_sets)
        self.group: Ints = np.asarray(group, dtype=np.int32)
        self.systems = list(systems) if systems is not None else [""] * len(self.ids)
        self.features, self.frequencies = features, frequencies or {}
        lengths = {len(self.ids), len(self.images), len(self.candidates), len(self.systems), len(self.group)}
        if len(lengths) != 1:
            raise ValueError(f"columns differ in length: {sorted(lengths)}")

    @classmethod
    def from_samples(cls, samples: Sequence[Sample]) -> Dataset:
        """Rows with the same image and the same references share one reference set."""
        sets: dict[tuple[str, tuple[str, ...]], int] = {}
        group = [sets.setdefault((s.image, s.references), len(sets)) for s in samples]
        return cls(
            [s.id for s in samples],
            [s.image for s in samples],
            [s.candidate for s in samples],
            [references for _, references in sets],
            group,
            [s.system for s in samples],
        )

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index: int | slice) -> Sample | Dataset:
        if isinstance(index, slice):
            return self.rows(range(*index.indices(len(self))))
        return Sample(
            self.ids[index],
            self.images[index],
            self.candidates[index],
            self.reference_sets[self.group[index]],
            self.systems[index],
        )

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def rows(self, indices: Sequence[int]) -> Dataset:
        """The given rows, in the given order, with only the reference sets they use."""
        used: dict[int, int] = {}
        group = [used.setdefault(int(self.group[i]), len(used)) for i in indices]
        return Dataset(
            [self.ids[i] for i in indices],
            [self.images[i] for i in indices],
            [self.candidates[i] for i in indices],
            [self.reference_sets[g] for g in used],
            group,
            [self.systems[i] for i in indices],
            self.features,
            self.frequencies,
        )


@dataclass(frozen=True, slots=True)
class Info:
    """What the command line, the docs and the contract tests know about a metric."""

    name: str
    names: tuple[str, ...]
    """The scores it gives, in the order of the columns of `per_sample`."""
    summary: str
    citation: str
    bounds: tuple[float, float] = (0.0, 1.0)
    revision: int = 1
    """Raised whenever a published number moves."""
    on_request: tuple[str, ...] = ()
    """Scores that are given only when they are named; they may be undefined (NaN) for a caption."""
    needs: tuple[str, ...] = ("references",)
    """What must be there beside the candidates: `references`, `pictures`, both or neither."""

    @property
    def usual(self) -> tuple[str, ...]:
        """The scores that the metric's name stands for."""
        return tuple(name for name in self.names if name not in self.on_request)


class Word(NamedTuple):
    """A word of a caption, and what a metric makes of it."""

    text: str
    fate: str = ""
    """`match`, `near` (a synonym, a word close by), `miss`, or nothing where it does not count."""
    weight: float | None = None
    """What it adds to the score, below 0 what it takes off; where the metric can tell."""
    note: str = ""


Fact = str | float
Entry = str | float | tuple[str, ...]
"""Of a table: a text, a number, or several texts."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a candidate got its score: facts, a table of what was matched with what, and the words of the captions."""

    reference: str
    """What was compared with; empty where a metric compares with none."""
    facts: Mapping[str, Fact]
    header: tuple[str, ...]
    rows: Sequence[tuple[Entry, ...]]
    candidate_words: tuple[Word, ...] = ()
    reference_words: tuple[Word, ...] = ()
    metric: str = ""
    """The expression of the part of a metric that this is about; empty: the metric itself."""


class Metric:
    """A metric is a frozen dataclass whose fields are its parameters.

    `stats` is the only part that looks at captions. Everything after it works on rows of numbers, so any resample
    can be scored, and parts computed on different machines can be stacked. The default corpus score is the mean over
    rows; a metric whose corpus score is something else overrides `summands` and `from_totals`.
    """

    info: ClassVar[Info]

    def stats(self, corpus: Corpus) -> Array:
        """Sufficient statistics, shape [rows, k]."""
        raise NotImplementedError

    def per_sample(self, stats: Array) -> Array:
        """Scores per caption, shape [rows, names]."""
        raise NotImplementedError

    def summands(self, stats: Array) -> Array:
        """The numbers, shape [rows, s], whose totals over the rows decide the corpus score."""
        return self.per_sample(stats)

    def from_totals(self, totals: Array, rows: int | Array) -> Array:
        """Corpus scores [..., names] from totals [..., s] of `summands` over `rows` rows."""
        return np.asarray(totals / rows)

    def corpus_score(self, stats: Array) -> Array:
        """The score of all rows together, shape [names]; any selection of rows may be passed."""
        if not len(stats):
            raise ValueError("a corpus score needs at least one row")
        # fsum: exactly rounded, so that the order of the rows cannot change the last digit.
        totals = np.array([math.fsum(column) for column in self.summands(stats).T])
        return self.from_totals(totals, len(stats))

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """What the score of tokenised captions comes from, for each reference or for all together.

        Metrics that can tell override this; of the others `capeval.metrics.explaining` shows what each word does to
        the score. The picture is there for those that look at it.
        """
        raise NotImplementedError

    def for_one_image(self) -> Metric:
        """This metric as it can judge a caption that stands alone: what depends on other images comes from a table."""
        return self

    def parametrised(self) -> Metric:
        """The metric whose parameters labels and signatures show: this one, unless it stands around another."""
        return self

    def joinable(self) -> bool:
        """Whether statistics of parts scored separately may be stacked."""
        return True

    def needs(self) -> tuple[str, ...]:
        """What this metric, with its parameters, must have beside the candidates."""
        return self.info.needs

    def encoders(self, run: Run) -> tuple[str, ...]:
        """Whose features of pictures it looks at, such as `lite0/7878a0d1b80f`; none: whatever is there."""
        return ()

    def hint_without_pictures(self) -> str:
        """A hint for users without pictures, such as the name of a variant that needs none."""
        return ""

    def for_inputs(self, references: bool, pictures: bool) -> Metric | None:
        """What is scored in its place where there are no references, or no pictures; None: nothing else."""
        return None

    def trained_on(self) -> tuple[str, ...]:
        """The data that a learned metric was trained on, in the words of `Benchmark.holds`."""
        return ()

    def signature_extras(self, run: Run) -> Mapping[str, Any]:
        """Facts beyond the parameters that decide the score, such as the hash of a table or a checkpoint."""
        return {}


class Selection(NamedTuple):
    """A metric and which of its scores are wanted."""

    metric: Metric
    names: tuple[str, ...]


NOT_A_PARAMETER = {"parameter": False}
"""Metadata of a dataclass field that expressions do not speak of."""


def parameters_of(metric: Metric | type[Metric]) -> list[Field[Any]]:
    """The fields of a metric that a user can set."""
    return [field for field in fields(metric) if field.metadata.get("parameter", True)]  # type: ignore[arg-type]
