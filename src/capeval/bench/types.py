"""The forms that human judgements come in, and what is known about a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from capeval.types import Array, Dataset

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Ratings:
    """Captions with the scores that people gave them.

    Each row of the dataset has a reference set of its own, even where rows share an image: CIDEr's document
    frequencies on a benchmark count a row's references once for each row.
    """

    dataset: Dataset
    human: Array
    """[rows, judges]; NaN where a judge gave no score. Every score is one row of the agreement."""
    main: str = "kendall_c"
    """The statistic that the benchmark is known for."""


@dataclass(frozen=True)
class Pairs:
    """Two captions of one image each, and which of them people prefer."""

    ids: Sequence[str]
    images: Sequence[str]
    first: Sequence[str]
    second: Sequence[str]
    references: Sequence[tuple[str, ...]]
    """All there are for the image; a run draws some of them."""
    first_wins: Flags
    categories: Sequence[str]
    drawn: int | None = None
    """How many references the protocol draws for each pair; None for all of them."""

    def dataset(self, count: int | None = None, seed: int = 0) -> Dataset:
        """Both captions of each pair, one after the other, with `count` references drawn for the pair."""
        generator = np.random.default_rng(seed)
        sets: list[tuple[str, ...]] = []
        for references in self.references:
            if count is not None and count < len(references):
                places = generator.choice(len(references), count, replace=False)
                references = tuple(references[place] for place in sorted(places.tolist()))
            sets += [references, references]
        return Dataset(
            [f"{each}-{side}" for each in self.ids for side in (1, 2)],
            [image for image in self.images for _ in (1, 2)],
            [text for both in zip(self.first, self.second) for text in both],
            sets,
            np.arange(len(sets), dtype=np.int32),
        )


@dataclass(frozen=True)
class Systems:
    """Systems with what people think of each, and scores that were published for them."""

    names: Sequence[str]
    human: Mapping[str, Array]
    scores: Mapping[str, Array]
    """NaN where a system has no score."""


Form = Ratings | Pairs | Systems


@dataclass(frozen=True)
class Source:
    """A file of a benchmark as it was published."""

    path: str
    """Below the root of all data, such as `flickr8k/ExpertAnnotations.txt`."""
    sha256: str
    variants: tuple[str, ...] = ()
    """The variants that need it; none for all of them."""


@dataclass(frozen=True)
class Benchmark:
    """One set of human judgements. A file in `capeval.bench.loaders` that has one of these is found by itself."""

    name: str
    summary: str
    citation: str
    licence: str
    published: str
    """Where the files can be had."""
    sources: tuple[Source, ...]
    holds: tuple[str, ...]
    """Images and judgements in it; a learned metric that was trained on any of them has seen the benchmark."""
    load: Callable[[Path, str], Form]
    """From the root of all data and the name of a variant."""
    variants: tuple[str, ...] = ("",)
    """Ways to run it that give different numbers, the usual one first."""
    default_variants: tuple[str, ...] = ("",)
    variant_key: str = "variant"
    """What results call the variant."""
    pictures: Callable[[Path, str], Path | None] = field(default=lambda root, image: None)
    """The file of an image below the root of all pictures."""

    def needed(self, variant: str) -> list[Source]:
        """The files that a variant is read from."""
        return [source for source in self.sources if not source.variants or variant in source.variants]


def picture_in(folder: str) -> Callable[[Path, str], Path | None]:
    """Pictures that lie in one folder under the name of their image, whatever their format."""

    def find(root: Path, image: str) -> Path | None:
        stem = Path(image).stem
        for ending in (".webp", ".jpg", ".jpeg", ".png"):
            if (path := root / folder / f"{stem}{ending}").is_file():
                return path
        return None

    return find
