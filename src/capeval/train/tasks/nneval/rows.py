"""The captions NNEval learns from: of people, and others, each with the human captions that it is judged by."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from capeval.errors import DataError
from capeval.io.captions import read_references
from capeval.io.features import Names
from capeval.perturb.transforms import Places, other_images, permuted, replaced, text_features
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.train.data import Captions, captions, machine_captions, some_of
from capeval.train.task import Inputs
from capeval.train.tasks.nneval.config import Config, Kind
from capeval.types import Dataset, Sample

HUMAN, MACHINE = "human", "machine"


def draw_rows(config: Config, inputs: Inputs) -> Dataset:
    """All rows; what made a caption is its system: `human`, or a kind of negative."""
    samples: list[Sample] = []
    machines = _machines(config, inputs) if MACHINE in config.negatives else {}
    for source in dict.fromkeys(config.sources):
        samples += _Source.of(source, config, inputs, machines).rows()
    if not samples:
        raise DataError(f"there are no pictures with {config.references + 1} human captions and what negatives need")
    return Dataset.from_samples(samples)


@dataclass(frozen=True)
class _Source:
    """Captions of one data set: a negative of another picture is of the same set, or its style would tell."""

    config: Config
    humans: Captions
    machines: Mapping[str, Sequence[str]]
    run: Run

    @classmethod
    def of(cls, name: str, config: Config, inputs: Inputs, machines: Mapping[str, Sequence[str]]) -> _Source:
        found = captions(name, "train", inputs.data)
        names = Names(found)
        own = {known: texts for image, texts in machines.items() if (known := names.find(image))}
        enough = [
            image
            for image, texts in found.items()
            if len(texts) > config.references and (MACHINE not in config.negatives or image in own)
        ]
        images = some_of(enough, config.images)
        return cls(config, {image: found[image] for image in images}, own, inputs.run)

    def rows(self) -> list[Sample]:
        return [row for place, image in enumerate(self.humans) for row in self._of_image(place, image)]

    def _of_image(self, place: int, image: str) -> list[Sample]:
        config = self.config
        # Of its own for each picture: what is drawn does not depend on which other pictures there are.
        random = np.random.default_rng([config.draw, zlib.crc32(image.encode())])
        texts = self.humans[image]
        chosen = [texts[i] for i in random.permutation(len(texts))[: config.references + 1]]
        found = []
        for number in range(min(config.captions, len(chosen))):
            found.append((HUMAN, chosen[number], chosen[:number] + chosen[number + 1 :]))
        turn = int(random.integers(len(config.negatives)))
        for number in range(len(found)):
            kind = config.negatives[(turn + number) % len(config.negatives)]
            left_out = int(random.integers(len(chosen)))
            references = chosen[:left_out] + chosen[left_out + 1 :]
            text = self._negative(kind, number, place, image, chosen[left_out], random)
            found.append((kind, text, references))
        return [
            Sample(f"{image}/{number}", image, text, tuple(references), kind)
            for number, (kind, text, references) in enumerate(found)
        ]

    def _negative(
        self, kind: Kind, number: int, place: int, image: str, human: str, random: np.random.Generator
    ) -> str:
        """`human` is the caption that is no reference: the one that words are changed in."""
        if kind == "machine":
            several = self.machines[image]
            return several[int(random.permutation(len(several))[number % len(several)])]
        if kind in ("rc", "near"):
            other = int(random.integers(len(self._images) - 1))
            other = int(self._near[place]) if kind == "near" else other + (other >= place)
            texts = self.humans[self._images[other]]
            return texts[int(random.integers(len(texts)))]
        (words,) = tokenize([human], self.run)
        share = float(random.uniform(0.1, 1))
        changed = permuted(words, share, random) if kind == "wp" else replaced(words, share, self._words, random)
        return " ".join(changed)

    @cached_property
    def _images(self) -> list[str]:
        found = list(self.humans)
        if len(found) < 2:
            raise DataError("captions of other pictures need at least two pictures")
        return found

    @cached_property
    def _tokens(self) -> list[list[list[str]]]:
        words = iter(tokenize([text for texts in self.humans.values() for text in texts], self.run))
        return [[next(words) for _ in texts] for texts in self.humans.values()]

    @cached_property
    def _near(self) -> Places:
        """For each picture another one whose captions have like words."""
        random = np.random.default_rng(self.config.draw)
        return other_images(text_features(self._tokens), self.config.near, random)

    @cached_property
    def _words(self) -> list[str]:
        return sorted({word for several in self._tokens for words in several for word in words})


def _machines(config: Config, inputs: Inputs) -> dict[str, list[str]]:
    """Machine captions by picture: of published systems, and of a file that a user brings."""
    found: dict[str, list[str]] = {}
    for name in config.machines:
        for by_image in machine_captions(name, inputs.data, "train").values():
            for image, text in by_image.items():
                found.setdefault(image, []).append(text)
    for image, texts in read_references(inputs.extra[MACHINE]).items() if MACHINE in inputs.extra else ():
        found.setdefault(image, []).extend(texts)
    return found
