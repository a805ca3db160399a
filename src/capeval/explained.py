"""Why one caption got its score: the same for every metric, as documents that terminals, notebooks and pages show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capeval import markup, showing
from capeval.documents.types import ExplanationDocument, MarkedWord
from capeval.evaluate import evaluate
from capeval.metrics.explaining import explain as explain_tokens
from capeval.registry import complete, label
from capeval.run import Progress, Run
from capeval.text.tokenize import tokenize
from capeval.types import Dataset, Entry, Explanation, Metric, Picture, Sample, Word


@dataclass(frozen=True, repr=False)
class Explained:
    """A caption's scores and what they come from; in a notebook its words are marked."""

    candidate: str
    references: tuple[str, ...]
    scores: dict[str, float]
    documents: list[ExplanationDocument]

    def __repr__(self) -> str:
        return "\n\n".join(text_of(each, 80) for each in self.documents)

    def _repr_html_(self) -> str:
        return markup.notebook(markup.explanations(self.documents))


def explain(
    metric: Metric, candidate: str, references: Sequence[str], run: Run, picture: Picture | None = None
) -> Explained:
    """The scores that the metric gives the caption, and what it has to say about them.

    What weighs n-grams by the images scored together uses a table instead: one caption is no corpus.
    """
    fitting = metric.for_inputs(bool(references), picture is not None)
    alone = (metric if fitting is None else complete(fitting)).for_one_image()
    image = picture.image if picture else "1"
    dataset = Dataset.from_samples([Sample("1", image, candidate, tuple(references))])
    dataset.features = picture.features if picture else None
    quiet = Run(run.tokenizer, run.threads, run.engine, Progress(), run.cache, run.feature_cache_bytes)
    tokens, *others = tokenize([candidate, *references], run)
    name = label(alone, alone.info.name)
    found = explain_tokens(alone, tokens, others, run, picture)
    scores = evaluate(dataset, [alone], quiet).scores
    documents = [_document(each, name, scores if not each.metric else {}) for each in found]
    return Explained(candidate, tuple(references), scores, documents)


def _document(each: Explanation, name: str, scores: dict[str, float]) -> ExplanationDocument:
    return ExplanationDocument(
        metric=each.metric or name,
        scores=dict(scores),
        reference=each.reference,
        facts=dict(each.facts),
        rows=[{key: _listed(cell) for key, cell in zip(each.header, row, strict=True)} for row in each.rows],
        candidate_words=_marked(each.candidate_words),
        reference_words=_marked(each.reference_words),
    )


def _listed(cell: Entry) -> str | float | int | list[str]:
    return list(cell) if isinstance(cell, tuple) else cell


def _marked(words: Sequence[Word]) -> list[MarkedWord]:
    return [MarkedWord(**word._asdict()) for word in words]


def text_of(each: ExplanationDocument, width: int | None = None) -> str:
    """For a terminal: [words] that match, (words) that nearly do, and the table."""
    lines = ["  ".join([each.metric, *(_pair(name, value) for name, value in each.totals())])]
    for name, words, text in (
        ("candidate: ", each.candidate_words, ""),
        ("reference: ", each.reference_words, each.reference),
    ):
        if words or text:
            lines.append(name + (" ".join(map(_bracketed, words)) if words else text))
    if told := each.further():
        lines.append(", ".join(_pair(name, value) for name, value in told.items()))
    wrapped = [line for text in lines for line in showing.wrapped(text, width)]
    if each.rows:
        header = list(each.rows[0])
        rows = [[_shown(cell) for cell in row.values()] for row in each.rows]
        numbers = [i for i, key in enumerate(header) if all(isinstance(row[key], int | float) for row in each.rows)]
        wrapped.append(showing.table(header, rows, numbers=numbers, width=width))
    return "\n".join(wrapped)


def _pair(name: str, value: str | float | None) -> str:
    """A name stays with its number."""
    if isinstance(value, str):
        return f"{name} {value}"
    return f"{name} {_shown(value)}".strip().replace(" ", showing.JOINED)


def _bracketed(word: MarkedWord) -> str:
    left, right = {"match": ("[", "]"), "near": ("(", ")")}.get(word.fate, ("", ""))
    return f"{left}{word.text}{right}"


def _shown(value: str | float | list[str] | None) -> str:
    if isinstance(value, list):
        return " · ".join(value)
    return showing.number(value) if isinstance(value, float | None) else str(value)
