"""The six forced-choice tasks of Hodosh and Hockenmaier (2016), built from any set of captions.

A correct caption stands against a distracted one: with another person or place in it (`replace`), of another image but
with the same person or place (`share`), or the person or place alone (`just`). The references are the other captions
of the image. Chunks are our own, so pairs are in the manner of the published ones, not the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from capeval.errors import DataError
from capeval.io.captions import References
from capeval.perturb.choices import TASKS, Choice
from capeval.perturb.chunks import Chunk, persons, scenes
from capeval.perturb.words import PERSONS, SCENES
from capeval.run import Run
from capeval.scene import Graph, parse_captions

# How many random captions are looked at for one that fits.
_TRIES = 50


class _Caption(NamedTuple):
    image: str
    number: int
    """Its place among the captions of its image."""
    words: list[str]
    content: frozenset[str]
    """Lemmas of nouns and verbs."""
    person: Chunk | None
    scene: Chunk | None


@dataclass
class _Image:
    """What all captions of an image speak of: a distracted caption must not be true of it."""

    persons: set[str]
    places: set[str]
    content: set[str]


def distracted(
    references: References, *, seed: int = 0, parser: str = "official", run: Run | None = None
) -> list[Choice]:
    """All choices that the captions allow. Images need two captions at least; the same seed gives the same choices."""
    texts = [(image, number, text) for image, several in references.items() for number, text in enumerate(several)]
    graphs = parse_captions([text for _, _, text in texts], parser, run)
    captions = [_caption(image, number, graph) for (image, number, _), graph in zip(texts, graphs)]
    images = _images(captions, graphs)
    maker = _Maker(captions, images, np.random.default_rng(seed))
    found = []
    for caption in captions:
        image, number, right = caption.image, caption.number, " ".join(caption.words)
        others = references[image][:number] + references[image][number + 1 :]
        if not others:
            continue
        for task in TASKS:
            if (wrong := maker.distracted(task, caption)) is not None:
                found.append(Choice(f"{task}/{image}#{number}", image, right, wrong, others, task))
    if not found:
        raise DataError("no caption names a person or a place, or no image has two captions: no pair can be built")
    return found


def _caption(image: str, number: int, graph: Graph) -> _Caption:
    content = frozenset(token.lemma for token in graph.tokens if token.tag[:2] in ("NN", "VB"))
    words = [token.word for token in graph.tokens]
    return _Caption(image, number, words, content - {"be"}, _first(persons(graph)), _first(scenes(graph)))


def _first(chunks: Sequence[Chunk]) -> Chunk | None:
    return chunks[0] if chunks else None


def _images(captions: Sequence[_Caption], graphs: Sequence[Graph]) -> dict[str, _Image]:
    images: dict[str, _Image] = {}
    for caption, graph in zip(captions, graphs):
        mine = images.setdefault(caption.image, _Image(set(), set(), set()))
        lemmas = {token.lemma for token in graph.tokens}
        mine.persons |= lemmas & PERSONS.keys()
        mine.places |= {SCENES[lemma] for lemma in lemmas & SCENES.keys()}
        mine.content |= caption.content
    return images


class _Maker:
    """Finds a distracted caption for a correct one."""

    def __init__(self, captions: Sequence[_Caption], images: dict[str, _Image], rng: np.random.Generator) -> None:
        self._images, self._rng = images, rng
        self._with_person: dict[bool, list[_Caption]] = {True: [], False: []}
        self._with_scene: list[_Caption] = []
        self._by_person: dict[tuple[str, bool], list[_Caption]] = {}
        self._by_scene: dict[str, list[_Caption]] = {}
        for caption in captions:
            if caption.person:
                self._with_person[caption.person.plural].append(caption)
                self._by_person.setdefault((caption.person.head, caption.person.plural), []).append(caption)
            if caption.scene:
                self._with_scene.append(caption)
                self._by_scene.setdefault(caption.scene.head, []).append(caption)

    def distracted(self, task: str, caption: _Caption) -> str | None:
        what, kind = task.split("_")
        chunk = caption.person if kind == "person" else caption.scene
        if chunk is None:
            return None
        if what == "just":
            # A caption that is nothing but the person would stand against itself.
            phrase = chunk.noun_phrase(caption.words)
            return phrase if chunk.end - chunk.phrase < len(caption.words) else None
        if what == "replace":
            return self._replaced(caption, chunk, kind)
        return self._sharing(caption, chunk, kind)

    def _replaced(self, caption: _Caption, chunk: Chunk, kind: str) -> str | None:
        pool = self._with_person[chunk.plural] if kind == "person" else self._with_scene
        mine = self._images[caption.image]
        for other in self._drawn(pool, caption):
            its = other.person if kind == "person" else other.scene
            assert its is not None
            if kind == "person":
                fits = all(PERSONS[its.head].contradicts(PERSONS[each]) for each in mine.persons)
            else:
                fits = SCENES[its.head] not in mine.places and its.head not in mine.content
            if fits:
                return " ".join([*caption.words[: chunk.begin], its.text(other.words), *caption.words[chunk.end :]])
        return None

    def _sharing(self, caption: _Caption, chunk: Chunk, kind: str) -> str | None:
        pool = self._by_person[chunk.head, chunk.plural] if kind == "person" else self._by_scene[chunk.head]
        mine = self._images[caption.image]
        for other in self._drawn(pool, caption):
            rest = other.content - {chunk.head}
            if kind == "scene" and other.person and caption.person and other.person.head == caption.person.head:
                continue
            if rest and 2 * len(rest & mine.content) <= len(rest):
                return " ".join(other.words)
        return None

    def _drawn(self, pool: Sequence[_Caption], caption: _Caption) -> Sequence[_Caption]:
        """Some captions of other images, in random order."""
        count = min(_TRIES, len(pool))
        chosen = self._rng.choice(len(pool), count, replace=False).tolist() if count else []
        return [pool[place] for place in chosen if pool[place].image != caption.image]
