"""Scoring from Python: files, lists or dicts in, results out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capeval import markup, verdict
from capeval.documents import CompareDocument, Difference, as_dict
from capeval.errors import DataError, counted
from capeval.evaluate import evaluate
from capeval.explained import Explained
from capeval.explained import explain as explain_caption
from capeval.io import captions
from capeval.io.files import PathLike
from capeval.registry import complete, parse
from capeval.results import Result
from capeval.run import Progress, Run
from capeval.runtime.grounding import CHECKPOINT, Grounded, Grounder
from capeval.runtime.pictures import open_picture, open_pictures
from capeval.showing import number, table, wrapped
from capeval.significance import Comparison
from capeval.significance import compare as compare_stats
from capeval.text import tokenize as tokenizing
from capeval.types import Features, Metric

if TYPE_CHECKING:
    from capeval.scene import SceneGraph

Captions = str | os.PathLike[str] | Sequence[Any] | Mapping[Any, Any] | captions.Candidates


def score(
    candidates: Captions,
    references: Captions | None = None,
    metrics: Iterable[str | Metric] | None = None,
    *,
    images: PathLike | Mapping[str, PathLike] | None = None,
    features: PathLike | Features | None = None,
    tokenizer: str = "ptb",
    threads: int | None = None,
    strict: bool = False,
    reading: captions.Reading | None = None,
) -> Result:
    """Scores captions.

    `candidates`: a list of captions, a dict id -> caption, a list of COCO results, or the path of a file.
    `references`: a list of lists of captions in the same order, a dict id -> captions, COCO annotations, or a path.
    `metrics`: expressions such as "bleu_4" or "cider_d(df=coco-val2014)", or metric objects; all metrics without it.
    `images`: for metrics that look at pictures, a folder of them or a dict id -> file.
    `features`: instead of pictures what `capeval features` made of them, or .npy, .npz or .h5.
    `reading`: names of columns, the split, and so on, for files and rows that do not speak for themselves.

    References may stand in the rows of the candidates. Metrics that need nothing but pictures go without.
    """
    if isinstance(candidates, list | tuple) and isinstance(references, list | tuple):
        refuse_unequal(candidates, references)
    run = _run(tokenizer, threads)
    reading = _reading(reading, references)
    known = None if references is None else _references(references, reading)
    dataset = captions.join(_candidates(candidates, reading), known, strict=strict).dataset
    dataset.features = open_pictures(images, features, run)
    return evaluate(dataset, metrics, run)


@dataclass(frozen=True, repr=False)
class Compared:
    """Two systems side by side: for each label, both scores, their difference, its interval and p-values."""

    n: int
    comparisons: dict[str, Comparison]
    signatures: dict[str, str]
    result: Result
    """Of both systems, `a` and `b`, caption by caption."""
    rows: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """Of systems that come from one result: which rows of it are compared."""

    @property
    def verdict(self) -> str:
        """Who is better, on what, and how sure that is."""
        return verdict.compared(self.document())

    def __repr__(self) -> str:
        """A small table and the verdict."""
        header = ["metric", "A", "B", "A - B", "low", "high", "p"]
        rows = [
            [key, *map(number, (each.a, each.b, each.difference, each.low, each.high, each.p_permutation))]
            for key, each in self.comparisons.items()
        ]
        told = "\n".join(wrapped(self.verdict, 80, indent=""))
        return f"{self.n:,} captions of each system\n{table(header, rows, numbers=range(1, 7), width=80)}\n{told}"

    def _repr_html_(self) -> str:
        header = ["metric", "A", "B", "A − B", "low", "high", "p"]
        rows = [
            [key, each.a, each.b, each.difference, each.low, each.high, each.p_permutation]
            for key, each in self.comparisons.items()
        ]
        told = f"<p><strong>{escape(self.verdict)}</strong></p>"
        return markup.notebook(told + markup.table(header, rows))

    def document(self, a: str | None = None, b: str | None = None) -> CompareDocument:
        """For JSON and reports; `a` and `b` are what the systems are called."""
        return CompareDocument(
            n=self.n,
            comparisons={
                key: Difference(
                    **{name: None if math.isnan(value) else value for name, value in each._asdict().items()}
                )
                for key, each in self.comparisons.items()
            },
            signatures=self.signatures,
            a=a,
            b=b,
        )

    def to_dict(self) -> dict[str, Any]:
        """As `capeval compare` prints it as JSON; numbers that do not exist are None."""
        return as_dict(self.document())


def compare(
    a: Captions,
    b: Captions,
    references: Captions | None = None,
    metrics: Iterable[str | Metric] | None = None,
    *,
    images: PathLike | Mapping[str, PathLike] | None = None,
    features: PathLike | Features | None = None,
    tokenizer: str = "ptb",
    threads: int | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    reading: captions.Reading | None = None,
) -> Compared:
    """Scores two systems on the same images and tells which differences are more than chance.

    References, `images`, `features` and `reading` are as in `score`.
    """
    reading = _reading(reading, references)
    both = _side_by_side(_candidates(a, reading), _candidates(b, reading))
    dataset = captions.join(both, None if references is None else _references(references, reading)).dataset
    run = _run(tokenizer, threads, progress)
    dataset.features = open_pictures(images, features, run)
    result = evaluate(dataset, metrics, run)
    return _compared(result, resamples, seed, run.progress)


def compare_systems(result: Result, a: str, b: str, *, resamples: int = 1000, seed: int = 0) -> Compared:
    """Two systems of one result, on the captions that both have; nothing is scored again."""
    places: dict[str, dict[str, int]] = {a: {}, b: {}}
    for row, (key, system) in enumerate(zip(result.ids, result.systems)):
        if system in places:
            places[system][key] = row
    shared = [key for key in places[a] if key in places[b]]
    if a == b or not shared:
        raise DataError(f"{a} and {b} have no captions with the same ids, so that they cannot be compared")
    rows = [*(places[a][key] for key in shared), *(places[b][key] for key in shared)]
    found = _compared(result.rows(rows), resamples, seed, Progress())
    return replace(found, rows=(tuple(rows[: len(shared)]), tuple(rows[len(shared) :])))


def _compared(result: Result, resamples: int, seed: int, progress: Progress) -> Compared:
    """The first half of the rows with the second."""
    half = len(result) // 2
    numbers: dict[str, int] = {}
    groups = np.array([numbers.setdefault(image, len(numbers)) for image in result.images[:half]], np.intp)
    comparisons = {}
    for each in result.scored:
        progress.step(f"resampling {each.metric.info.name}")
        found = compare_stats(each.metric, each.stats[:half], each.stats[half:], groups, resamples=resamples, seed=seed)
        comparisons.update({key: found[column] for key, column in zip(each.labels, each.columns, strict=True)})
    return Compared(half, comparisons, result.signatures, result)


def explain(
    metric: str | Metric,
    candidate: str,
    references: Sequence[str] | str = (),
    *,
    image: PathLike | None = None,
    features: PathLike | Features | None = None,
    tokenizer: str = "ptb",
    threads: int | None = None,
) -> Explained:
    """Why a caption gets its score from a metric, whichever it is; in a notebook, with its words marked.

    `image` and `features` are for metrics that look at the picture: its file, and regions or vectors of your own.
    """
    chosen = parse(metric).metric if isinstance(metric, str) else complete(metric)
    run = _run(tokenizer, threads)
    picture = open_picture(image, features, run) if image is not None else None
    given = (references,) if isinstance(references, str) else tuple(references)
    if "references" in chosen.needs() and not given:
        raise DataError(f"{chosen.info.name} compares with references: give some")
    return explain_caption(chosen, candidate, given, run, picture)


def tokenize(texts: str | Sequence[str], tokenizer: str = "ptb") -> list[Any]:
    """The tokens of a caption, or of each of several."""
    if isinstance(texts, str):
        return tokenizing.tokenize([texts], Run(tokenizer))[0]
    return tokenizing.tokenize(texts, Run(tokenizer))


def scene_graph(caption: str, tokenizer: str = "ptb", parser: str | None = None) -> SceneGraph:
    """Objects, attributes and relations of a caption; in a notebook it shows as a picture.

    `parser` is "official" or "fast"; without it the official one is taken where its grammar is, else the fast one.
    """
    if not isinstance(caption, str):
        raise DataError(f"a caption is a text, not {caption!r}")
    from capeval.scene import SceneGraph, default_parser, tuples_of

    text = " ".join(tokenize(caption, tokenizer))
    return SceneGraph(tuples_of([text], parser or default_parser())[0])


def ground(
    image: PathLike,
    caption: str,
    references: Sequence[str] = (),
    *,
    checkpoint: str = CHECKPOINT,
    features: PathLike | Features | None = None,
) -> Grounded:
    """Where in a picture a caption lies, and each of its words; `capeval.report.write_grounding` draws it.

    `checkpoint`: a folder made by `capeval train scan`. `features`: the picture's regions, if they are not to be made
    by the encoder that the model knows; the picture's id is its name without the ending.
    """
    name = Path(image).stem
    return Grounder({name: image}, checkpoint=checkpoint, features=features).ground(name, caption, references)


def _run(tokenizer: str, threads: int | None, progress: Progress | None = None) -> Run:
    usual = Run(tokenizer)
    return replace(usual, threads=threads or usual.threads, progress=progress or usual.progress)


def refuse_unequal(candidates: Sequence[Any], references: Sequence[Any]) -> None:
    """Lists without ids belong together by position, so one longer than the other is a mistake."""
    by_position = bool(candidates) and all(isinstance(caption, str) for caption in candidates)
    if by_position and len(candidates) != len(references):
        raise DataError(
            f"{counted(len(candidates), 'candidate')} but {counted(len(references), 'list')} of references, by position"
        )


def _reading(given: captions.Reading | None, references: Captions | None) -> captions.Reading:
    return replace(given or captions.Reading(), own_references=references is None)


def _candidates(source: Captions, reading: captions.Reading) -> captions.Candidates:
    if isinstance(source, captions.Candidates):
        return source
    if isinstance(source, str | os.PathLike):
        return captions.read_candidates(source, reading)
    return captions.candidates_from(source, reading=reading)


def _references(source: Captions, reading: captions.Reading) -> captions.References:
    if isinstance(source, str | os.PathLike):
        return captions.read_references(source, reading=reading)
    return captions.references_from(source, reading=reading)


def _side_by_side(a: captions.Candidates, b: captions.Candidates) -> captions.Candidates:
    """The rows of both, in the order of the first, as two systems."""
    for each in (a, b):
        if len(set(each.systems)) > 1:
            raise DataError("a comparison takes one system a file, and this one has several", file=each.source)
    place = {key: i for i, key in enumerate(b.ids)}
    missing = [key for key in a.ids if key not in place]
    if missing:
        raise DataError(
            f"{counted(len(missing), 'caption')} of {a.source} not there to compare with.", file=b.source, ids=missing
        )
    known = set(a.ids)
    extra = [key for key in b.ids if key not in known]
    if extra:
        raise DataError(
            f"{counted(len(extra), 'caption')} not in {a.source}; both must cover the same.", file=b.source, ids=extra
        )
    order = [place[key] for key in a.ids]
    moved = [key for key, image, i in zip(a.ids, a.images, order, strict=True) if b.images[i] != image]
    if moved:
        raise DataError(f"{counted(len(moved), 'id')} of another image than in {a.source}.", file=b.source, ids=moved)
    return captions.Candidates(
        f"{a.source} and {b.source}",
        a.ids + a.ids,
        a.images + a.images,
        a.captions + [b.captions[i] for i in order],
        ["a"] * len(a.ids) + ["b"] * len(a.ids),
        references=a.references,
        by_line=a.by_line,
    )
