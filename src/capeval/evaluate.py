"""Scoring a dataset: tokenise once, compute each metric's statistics, label and sign the scores."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.corpus import Corpus
from capeval.errors import CapevalError, DataError, MissingPictures, Unavailable, counted
from capeval.io.kept import kept_array
from capeval.metrics.composite import Composite
from capeval.registry import complete, label, merge, metric_classes, parse_all
from capeval.results import Result, Scored, refuse_unless_joinable
from capeval.run import Run
from capeval.types import Array, Dataset, Features, Metric, Selection
from capeval.version import __version__


def evaluate(
    dataset: Dataset,
    metrics: Iterable[str | Metric] | None = None,
    run: Run | None = None,
    *,
    lenient: bool | None = None,
    so_far: Callable[[Result], None] | None = None,
) -> Result:
    """Scores a dataset with the given metric expressions.

    Without any, every metric is used that can be: those that lack a package, a file, references or pictures are named
    in a note. `lenient` does so with given metrics too, or (False) makes it an error. `so_far` is shown the result
    after each metric.
    """
    run = run or Run()
    lenient = metrics is None if lenient is None else lenient
    if not len(dataset):
        raise DataError("there are no captions to score")
    selections = parse_all(metric_classes() if metrics is None else metrics)
    if not selections:
        raise CapevalError("no metric was asked for")
    has = bool(any(dataset.reference_sets)), dataset.features is not None
    selections = merge([for_inputs(selection, *has, run if metrics is not None else None) for selection in selections])
    run.progress.step("reading captions")
    corpus = Corpus(dataset, run)
    digest = _digest(dataset) if run.kept else ""
    scored = []
    for selection in selections:
        run.progress.step(f"scoring {selection.metric.info.name}")
        try:
            check_needs(selection.metric, dataset)
            scored.append(_score(selection, corpus, digest))
            if so_far:
                so_far(_result(dataset, scored, run))
        except Unavailable as problem:
            if not lenient:
                raise
            run.progress.left_out(selection.metric.info.name, problem)
    if not scored and metrics is None:
        raise CapevalError("there is no metric that needs no more than what is given")
    return _result(dataset, scored, run)


def _result(dataset: Dataset, scored: Sequence[Scored], run: Run) -> Result:
    hashes, counts = _reference_columns(dataset)
    pictures = dataset.features if any(each.pictures for each in scored) else None
    return Result(
        dataset.ids,
        dataset.images,
        dataset.candidates,
        dataset.systems,
        counts[dataset.group],
        hashes[dataset.group],
        tuple(scored),
        run.tokenizer,
        None if pictures is None else _picture_hashes(pictures, dataset.images),
        references=[dataset.reference_sets[group] for group in dataset.group.tolist()],
    )


def evaluate_blocks(
    blocks: Iterable[Dataset], metrics: Iterable[str | Metric], run: Run | None = None
) -> Iterator[Result]:
    """Scores a dataset that comes in blocks of rows: the result of each block, while the next ones are not read yet.

    `Totals` adds them up to the scores of the whole. Metrics that depend on all rows together are refused.
    """
    wanted = list(metrics)
    for selection in parse_all(wanted):
        refuse_unless_joinable(selection.metric)
    for block in blocks:
        yield evaluate(block, wanted, run)


def for_inputs(selection: Selection, references: bool, pictures: bool, run: Run | None) -> Selection:
    """What a metric is where references or pictures are missing, with a note; itself where it is nothing else."""
    metric = selection.metric
    other = metric.for_inputs(references, pictures)
    if other is None:
        return selection
    other = complete(other)
    name, given = metric.info.name, label(other, other.info.name)
    if run is not None and metric.info.name == other.info.name:
        missing = "references" if pictures else "pictures"
        run.progress.note(f"there are no {missing}: {given} is given, {name} without the parts that need them")
    elif run is not None:
        parts = metric.parts if isinstance(metric, Composite) else ()
        looks = " and ".join(each.metric.info.name for each in parts if "pictures" in each.metric.needs())
        run.progress.note(
            f"{name} cannot be computed: {looks or name} looks at pictures, and there are none. {given}, the part that "
            "reads the caption alone, is given in its place"
        )
    return Selection(other, other.info.usual)


def check_needs(metric: Metric, dataset: Dataset) -> None:
    """Raises Unavailable where the data set has no references or no pictures at all and the metric needs them.

    Pictures that are there for some images only are an error in the data.
    """
    if "references" in metric.needs() and not any(dataset.reference_sets):
        raise Unavailable(f"{metric.info.name} compares with references, and there are none", remedy="references")
    if "pictures" not in metric.needs():
        return
    if dataset.features is None:
        hint = f". {metric.hint_without_pictures()}" if metric.hint_without_pictures() else ""
        raise Unavailable(f"{metric.info.name} looks at pictures, and there are none{hint}", remedy="pictures")
    missing = [image for image in dict.fromkeys(dataset.images) if image not in dataset.features]
    if missing:
        raise MissingPictures(
            f"{counted(len(missing), 'image')} without a picture, which {metric.info.name} looks at.", ids=missing
        )


def _picture_hashes(pictures: Features, images: Sequence[str]) -> npt.NDArray[np.uint64]:
    """With the image's name: the same pictures under exchanged names are other data."""
    distinct = list(dict.fromkeys(images))
    contents = zip(distinct, pictures.contents(distinct), strict=True)
    hashes = {image: _hash(f"{image}\n{content}") for image, content in contents}
    return np.frombuffer(b"".join(hashes[image] for image in images), "<u8").astype(np.uint64)


def _score(selection: Selection, corpus: Corpus, digest: str) -> Scored:
    before = dict(selection.metric.signature_extras(corpus.run))
    stats = _stats(selection.metric, corpus, before, digest)
    extras = dict(selection.metric.signature_extras(corpus.run))
    if extras != before:
        raise DataError(
            f"a file that {selection.metric.info.name} reads was changed while it was scoring: {before} before, "
            f"{extras} after. Score again"
        )
    return Scored(selection.metric, selection.names, stats, extras, _seen(selection.metric, corpus))


def _seen(metric: Metric, corpus: Corpus) -> str:
    """What the features of the pictures are that a metric looks at; empty where it looks at none."""
    if "pictures" not in metric.needs():
        return ""
    kinds = [corpus.features(name) for name in metric.encoders(corpus.run) or ("",)]
    return "+".join(dict.fromkeys(each.encoder or each.digest[:12] for each in kinds))


def _stats(metric: Metric, corpus: Corpus, extras: Mapping[str, Any], digest: str) -> Array:
    """The statistics of a metric, from an earlier run where it kept them."""
    if corpus.run.kept is None:
        return corpus.stats(metric)
    kind, seen = type(metric), _seen(metric, corpus)
    decides = (
        "stats", __version__, f"{kind.__module__}.{kind.__qualname__}", label(metric, metric.info.name, full=True),
        metric.info.revision, dict(extras), corpus.run.tokenizer, digest,
        [seen, *corpus.features().contents(corpus.images)] if seen else "",
    )  # fmt: skip
    return kept_array(corpus.run.kept, label(metric, metric.info.name), decides, lambda: corpus.stats(metric))


def _digest(dataset: Dataset) -> str:
    """Tells the captions and references, in their order, from all others."""
    state = hashlib.sha256()
    for column in (dataset.images, dataset.candidates, *dataset.reference_sets):
        state.update("\x1f".join(column).encode(errors="surrogatepass") + b"\x1e")
    state.update(dataset.group.tobytes())
    return state.hexdigest()


def _reference_columns(dataset: Dataset) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """A hash of each reference set, which the order of its captions does not change, and its size."""
    digests = [_hash("\n".join(sorted(references))) for references in dataset.reference_sets]
    hashes = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
    return hashes, np.array([len(references) for references in dataset.reference_sets], np.int32)


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
