"""What the studies of UICE are made of: captions of several kinds, and their scores."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench.registry import data_root
from capeval.evaluate import evaluate
from capeval.perturb.transforms import permuted, replaced
from capeval.run import Run
from capeval.runtime.uice import open_fusion, open_semantics, open_syntax
from capeval.text.tokenize import tokenize
from capeval.text.vocabulary import UNK
from capeval.train.data import captions, flickr8k_captions
from capeval.train.pictures import Pool
from capeval.types import Array, Dataset, Sample

_PICTURES = 2000  # of each set of captions in a style


class Judge:
    """The three scores of captions, by the shipped checkpoints."""

    def __init__(self, pool: Pool, threads: int) -> None:
        self.pool, self.threads = pool, threads
        self._semantics, self._fusion = open_semantics("uice-sem"), open_fusion("uice")

    def syntax(self, texts: Sequence[str | Sequence[str]], style: str = "photo") -> Array:
        words = [each if not isinstance(each, str) else None for each in texts]
        split = iter(tokenize([each for each in texts if isinstance(each, str)]))
        given = [next(split) if each is None else list(each) for each in words]
        return open_syntax(f"uice-syn-{style}").judge(given, self.threads)

    def all(self, texts: Sequence[str | Sequence[str]], images: Sequence[str]) -> tuple[Array, Array, Array]:
        """Semantic, syntactic and fused."""
        given = [tokenize([each])[0] if isinstance(each, str) else list(each) for each in texts]
        seen = self._semantics.look(self.pool.vectors(list(images)), self.threads)
        every = np.arange(len(given))
        match = self._semantics.match(self._semantics.read(given, self.threads), every, seen, every, self.threads)
        sentence = self.syntax(given)
        return match, sentence, self._fusion.fuse(np.column_stack([match, sentence]))

    def with_unknown(self, texts: Sequence[str], known: int, style: str = "photo") -> tuple[Array, Array]:
        """Before and after one word of each caption becomes unknown, with a vocabulary of so many words."""
        syntax = open_syntax(f"uice-syn-{style}")
        limit = UNK + 1 + known
        before = [[word if syntax.vocabulary[word] < limit else "\0" for word in words] for words in tokenize(texts)]
        return syntax.judge(before, self.threads), syntax.judge(hidden_words(before), self.threads)

    def cider(self, systems: Mapping[str, Sequence[str]], references: Sequence[tuple[str, ...]]) -> dict[str, float]:
        found = {}
        for system, texts in systems.items():
            rows = [Sample(f"{i}", f"{i}", text, references[i]) for i, text in enumerate(texts)]
            result = evaluate(Dataset.from_samples(rows), ["cider_d"], Run(threads=self.threads))
            found[system] = result.scores["cider_d"]
        return found


def hidden_words(texts: Sequence[Sequence[str]]) -> list[list[str]]:
    """The same, one random word of each unknown."""
    random, found = np.random.default_rng(0), [list(words) for words in texts]
    for words in found:
        if words:
            words[int(random.integers(len(words)))] = "\0"
    return found


def auc(higher: Array, lower: Array) -> float:
    """The area under the ROC curve."""
    below = np.sort(lower)
    ranks = np.searchsorted(below, higher, "left") + np.searchsorted(below, higher, "right")
    return float(ranks.mean() / 2 / len(lower))


def pairs_won(own: Array, other: Array) -> float:
    """How often the first of a pair scores more; equal scores count half."""
    return float(((own > other) + (own == other) / 2).mean())


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    ranks = [np.argsort(np.argsort(values)).astype(float) for values in (x, y)]
    return float(np.corrcoef(*ranks)[0, 1])


def spoiled(texts: Sequence[str], kind: str, tau: float) -> list[list[str]]:
    """Captions with permuted words (wp), or random ones (rw) of all these captions."""
    random, given = np.random.default_rng(0), tokenize(texts)
    words = sorted({word for text in given for word in text})
    change = (
        (lambda text: permuted(text, tau, random))
        if kind == "wp"
        else (lambda text: replaced(text, tau, words, random))
    )
    return [change(text) for text in given]


def flickrstyle(data: str | None) -> tuple[list[str], list[str], list[str]]:
    """For each picture a factual, a romantic and a humorous caption by people: those of Flickr8k's validation split."""
    own = flickr8k_captions(data)
    rows = [row for row in _rows("flickrstyle", data) if row["flickr8k_split"] == "dev"][:_PICTURES]
    factual = [own[row["image"].removesuffix(".jpg")][0] for row in rows]
    return factual, [row["romantic"] for row in rows], [row["humorous"] for row in rows]


def semstyle(data: str | None) -> dict[str, list[str]]:
    """Captions by system, all of the same pictures."""
    rows = _rows("semstyle_outputs", data)[:_PICTURES]
    return {name: [row[name] for row in rows] for name in rows[0] if name != "image_id"}


def senticap(data: str | None) -> dict[str, list[str]]:
    rows = _rows("senticap", data)[: _PICTURES // 3]  # three captions of each kind
    return {kind: [text for row in rows for text in row[kind]] for kind in ("positive", "negative")}


def triples(judge: Judge, data: str | None, count: int, tau: float) -> list[tuple[Array, Array, Array]]:
    """The three scores of good captions, of other pictures' captions, and of broken ones."""
    random = np.random.default_rng(0)
    every = {image: texts for image, texts in captions("flickr8k", "test", data).items() if image in judge.pool}
    images = [sorted(every)[place] for place in random.permutation(len(every))[:count].tolist()]
    words = {image: tokenize(every[image]) for image in images}
    good = [_least_alike(words[image]) for image in images]
    other = good[1:] + good[:1]
    broken = [permuted(text, tau, random) for text in good]
    return [judge.all(texts, images) for texts in (good, other, broken)]


def _least_alike(texts: Sequence[list[str]]) -> list[str]:
    """The caption that shares the smallest part of its words with the others."""
    sets = [set(text) for text in texts]

    def shared(place: int) -> float:
        others = set().union(*(each for number, each in enumerate(sets) if number != place))
        return len(sets[place] & others) / max(1, len(sets[place]))

    return texts[min(range(len(texts)), key=shared)]


def _rows(name: str, data: str | None) -> list[dict[str, Any]]:
    path: Path = data_root(data) / "style" / f"{name}.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return list(json.load(stream))
