"""What explains a score better as a drawing: METEOR's alignment, WMD's flow, scene graphs. Each is an SVG in a page,
whose style sheet gives the colours `--match`, `--near`, `--miss` and `--ink`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from capeval.metrics.meteor import Meteor, align_tokens
from capeval.metrics.spice import Spice
from capeval.metrics.wmd import Wmd
from capeval.run import Run
from capeval.scene.picture import svg as scene_svg
from capeval.scene.scene_graph import SceneGraph
from capeval.types import Metric

_FONT = 14
_LETTER = 8.2
"""Pixels of a letter, from above: no font is at hand."""
_GAP = 14
_ROW = 26
_BETWEEN = 70
_PLAIN = "ink"
_WEIGHT = ' font-weight="600"'
_MOST = 3
"""References that are drawn, the best first."""


class Drawing(NamedTuple):
    title: str
    svg: str


class _Link(NamedTuple):
    """Words of one caption with words of the other."""

    ours: range
    theirs: range
    kind: str
    """`match` or `near`."""
    strength: float
    note: str


def drawings(metric: Metric, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run) -> list[Drawing]:
    """Of a caption's score by a metric; none where a drawing tells no more than the words do."""
    if isinstance(metric, Meteor):
        return _alignments(candidate, references, run)
    if isinstance(metric, Wmd):
        return _flows(metric, candidate, references, run)
    if isinstance(metric, Spice):
        return _scenes(metric, candidate, references, run)
    return []


def _alignments(candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run) -> list[Drawing]:
    found = sorted((align_tokens(candidate, each, run) for each in references), key=lambda each: -each.score)
    drawn = []
    for each in found[:_MOST]:
        links = [
            _Link(
                range(pair.candidate_start, pair.candidate_start + len(pair.candidate)),
                range(pair.reference_start, pair.reference_start + len(pair.reference)),
                "match" if pair.module == "exact" else "near",
                1.0,
                pair.module,
            )
            for pair in each.pairs
        ]
        title = f"METEOR {each.score:.4f}: {len(each.pairs)} matches in {each.chunks} chunks"
        drawn.append(Drawing(title, _linked(each.candidate, each.reference, links, "alignment")))
    return drawn


def _flows(metric: Wmd, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run) -> list[Drawing]:
    drawn = []
    for reference in references:
        moves = metric.flow(candidate, reference, run)
        total = sum(move.amount * move.distance for move in moves)
        links = [
            _Link(
                _place(move.source, candidate),
                _place(move.target, reference),
                "match" if move.distance == 0 else "near",
                move.amount,
                f"{100 * move.amount:.0f} % over {move.distance:.2f}",
            )
            for move in moves
        ]
        if links:
            drawing = Drawing(f"Distance {total:.4f}", _linked(candidate, reference, links, "flow"))
            drawn.append((total, drawing))
    return [drawing for _, drawing in sorted(drawn, key=lambda each: each[0])[:_MOST]]


def _place(word: str, words: Sequence[str]) -> range:
    place = words.index(word)
    return range(place, place + 1)


def _scenes(metric: Spice, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run) -> list[Drawing]:
    ours, *theirs = metric.tuples([" ".join(each) for each in (candidate, *references)], run)
    mine, others = SceneGraph(ours), SceneGraph([each for tuples in theirs for each in tuples])
    return [
        Drawing("The candidate; hollow: in no reference", scene_svg(mine, others)),
        Drawing("All references together; hollow: not in the candidate", scene_svg(others, mine)),
    ]


def _linked(ours: Sequence[str], theirs: Sequence[str], links: Sequence[_Link], what: str) -> str:
    """Two lines of words and curves between them; thicker ones carry more."""
    above, below = _centres(ours), _centres(theirs)
    width = max([_end(ours, above), _end(theirs, below), 40.0])
    height = 2 * _ROW + _BETWEEN
    largest = max((link.strength for link in links), default=1.0) or 1.0
    curves: list[str] = []
    fates: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for link in links:
        for places, seen in zip((link.ours, link.theirs), fates):
            for place in places:
                seen[place] = link.kind if seen.get(place) != "match" else "match"
        x1, x2 = _middle(link.ours, above), _middle(link.theirs, below)
        y1, y2, bend = _ROW, _ROW + _BETWEEN, _BETWEEN / 2
        thick = 1.5 + 4.5 * link.strength / largest if link.strength < 1 else 2.0
        told = f"{_words(ours, link.ours)} → {_words(theirs, link.theirs)}: {link.note}"
        curves.append(
            f'<path d="M{x1:.1f},{y1} C{x1:.1f},{y1 + bend:.0f} {x2:.1f},{y2 - bend:.0f} {x2:.1f},{y2}" fill="none" '
            f'stroke="var(--{link.kind})" stroke-width="{thick:.1f}"{_dashes(link.kind)}>'
            f"<title>{escape(told)}</title></path>"
        )
    texts = [
        f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="var(--{seen.get(place, _PLAIN)})"'
        f"{_WEIGHT if place in seen else ''}>{escape(word)}</text>"
        for words, centres, y, seen in ((ours, above, _ROW - 8, fates[0]), (theirs, below, height - 6, fates[1]))
        for place, (word, x) in enumerate(zip(words, centres))
    ]
    told = "; ".join(f"{_words(ours, link.ours)} to {_words(theirs, link.theirs)}, {link.note}" for link in links)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{what}" role="img" aria-label="{what}: {escape(told)}" '
        f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" font-family="sans-serif" '
        f'font-size="{_FONT}">{"".join(curves)}{"".join(texts)}</svg>'
    )


def _dashes(kind: str) -> str:
    """Nearness is told without colours too."""
    return ' stroke-dasharray="6 3"' if kind == "near" else ""


def _centres(words: Sequence[str]) -> list[float]:
    x, found = 4.0, []
    for word in words:
        wide = max(1, len(word)) * _LETTER
        found.append(x + wide / 2)
        x += wide + _GAP
    return found


def _end(words: Sequence[str], centres: Sequence[float]) -> float:
    return centres[-1] + len(words[-1]) * _LETTER / 2 + 4 if words else 0.0


def _middle(places: range, centres: Sequence[float]) -> float:
    return sum(centres[place] for place in places) / len(places)


def _words(words: Sequence[str], places: range) -> str:
    return " ".join(words[place] for place in places)
