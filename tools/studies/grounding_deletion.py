"""Does the heat of a noun lie on what the caption speaks of? The match without the noun's hottest regions tells.

    python tools/studies/grounding_deletion.py --features val.features [--data ROOT] [-o docs/measured/grounding.md]

Of some held-out COCO pictures (Karpathy's validation split, less all that a benchmark uses) one caption each is drawn,
and one of its nouns, by our own tagger. The quarter of the regions that are nearest to the noun is taken out of the
picture, and the match, the mean of the caption's grounding vector over the regions that are left, is computed anew. It
should fall by more than it does without a random quarter, in the mean over several draws.

It does so by construction, too, even for a model that has learned nothing: a region near to a word of the caption is
near to the caption. Two more rows tell that apart: the same caption on another picture, where the thing is not to be
seen; and, with --judge, the match as another model sees it, one that was trained apart, such as one of direction t2i.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from capeval.errors import DataError
from capeval.io.features import open_features
from capeval.io.files import writing
from capeval.runtime.scan import Scan, open_scan
from capeval.scene import parse_captions
from capeval.text.tokenize import tokenize
from capeval.train.data import captions
from capeval.types import Picture

NOUNS = ("NN", "NNS")
ROOT = Path(__file__).resolve().parents[2]


class Case(NamedTuple):
    """A caption, and where its noun stands among the words."""

    image: str
    words: list[str]
    noun: int


class Fall(NamedTuple):
    """By how much the match falls."""

    match: float
    hottest: float
    random: float
    """In the mean over the draws."""
    coldest: float


@click.command(help=__doc__)
@click.option("--features", "files", multiple=True, required=True, metavar="FILE", help="Regions of the pictures.")
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
@click.option("--checkpoint", default="scan", show_default=True, metavar="NAME", help="A SCAN, direction i2t.")
@click.option("--judge", metavar="NAME", help="Another SCAN on the same regions, of any direction.")
@click.option("--captions", "count", default=200, show_default=True)
@click.option("--draws", default=20, show_default=True, help="Random quarters for each caption.")
@click.option("--seed", default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=ROOT / "docs" / "measured" / "grounding.md")
def main(
    files: Sequence[str],
    data: str | None,
    checkpoint: str,
    judge: str | None,
    count: int,
    draws: int,
    seed: int,
    output: Path,
) -> None:
    scan = open_scan(checkpoint)
    if scan.direction != "i2t":
        raise DataError(f"{checkpoint}: regions must look at words (direction i2t)")
    other = open_scan(judge) if judge else None
    pictures = [open_features(file) for file in files]
    random = np.random.default_rng(seed)
    cases = chosen(captions("coco", "val", data), pictures, scan, count, random)
    shown = [_shown(scan, pictures, case.image) for case in cases]
    own, elsewhere, apart = [], [], []
    for number, case in enumerate(cases):
        own.append(falls(scan, scan, shown[number], case, draws, random))
        elsewhere.append(falls(scan, scan, shown[number - 1], case, draws, random))
        if other:
            apart.append(falls(scan, other, shown[number], case, draws, random))
    with writing(output) as stream:
        stream.write(page(scan, other, cases, (own, elsewhere, apart), draws, seed).encode())


def _shown(scan: Scan, pictures: Sequence[Any], image: str) -> Picture:
    source = next(each for each in pictures if image in each)
    scan.checkpoint.check_encoder(source.encoder)
    return Picture(source, image)


def chosen(
    given: dict[str, tuple[str, ...]], pictures: Sequence[Any], scan: Scan, count: int, random: np.random.Generator
) -> list[Case]:
    """So many cases, each of another picture; pictures and captions are drawn."""
    images = sorted(image for image in given if any(image in each for each in pictures))
    random.shuffle(images)
    found: list[Case] = []
    for image in images:
        case = _case(image, given[image], scan, random)
        found += [case] if case else []
        if len(found) == count:
            return found
    raise DataError(f"{len(found)} of {count} captions: more pictures are needed")


def _case(image: str, texts: Sequence[str], scan: Scan, random: np.random.Generator) -> Case | None:
    """None where the model knows no noun of the caption that is drawn."""
    text = str(random.choice(texts))
    (tokens,), (graph,) = tokenize([text]), parse_captions([text], "fast")
    words = tokens[: scan.words]
    nouns = [
        place
        for place, (word, token) in enumerate(zip(words, graph.tokens))
        if token.tag in NOUNS and token.word == word and scan.knows(word)
    ]
    return Case(image, words, int(random.choice(nouns))) if nouns else None


def falls(scan: Scan, judge: Scan, shown: Picture, case: Case, draws: int, random: np.random.Generator) -> Fall:
    """What becomes of the match without a quarter of the regions: the noun's hottest, random ones, its coldest.

    `scan` tells which are hot, `judge` what the match is.
    """
    (seen,) = scan.look(shown.features, [shown.image])
    heat = scan.ground(seen, scan.read([case.words]).vectors).similarity[:, case.noun]
    order, quarter = np.argsort(-heat, kind="stable"), len(heat) // 4
    (mapped,), words = judge.look(shown.features, [shown.image]), judge.read([case.words]).vectors

    def without(removed: Any) -> float:
        left = np.delete(mapped, removed, axis=0)
        return match - float(judge.ground(left, words).vector.mean())

    match = float(judge.ground(mapped, words).vector.mean())
    by_chance = [without(random.permutation(len(heat))[:quarter]) for _ in range(draws)]
    return Fall(match, without(order[:quarter]), float(np.mean(by_chance)), without(order[-quarter:]))


def interval(hits: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z = 1.959964
    share = hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return middle - half, middle + half


def page(
    scan: Scan,
    judge: Scan | None,
    cases: Sequence[Case],
    found: tuple[Sequence[Fall], Sequence[Fall], Sequence[Fall]],
    draws: int,
    seed: int,
) -> str:
    """`found`: on the caption's picture, on another one, and as the judge sees it."""
    own, elsewhere, apart = found
    made_of = scan.checkpoint.facts.get("encoder") or "features of your own"
    judged = [_row("hottest quarter", f"the caption, by another model ({judge.direction})", apart, 1)] if judge else []
    lines = [
        "# Does the heat lie on the named thing?",
        "",
        f"Made by `python tools/studies/grounding_deletion.py` (captions {len(cases)}, draws {draws}, seed {seed}), "
        f"SCAN `{scan.checkpoint.digest}` on regions by `{made_of}`"
        + (f", judge `{judge.checkpoint.digest}`." if judge else "."),
        "",
        f"For {len(cases)} captions of as many COCO pictures that it was not trained on, one noun of each (our own "
        "tagger), the quarter of the regions nearest to the noun is taken out of the picture. The match of caption and "
        "picture is the mean of the caption's grounding vector over the regions that are left. It is compared with the "
        f"mean over {draws} random quarters.",
        "",
        "| taken out | match of | captions | match before | falls by | by chance | falls more than by chance | 95 % |",
        "|---|---|---|---|---|---|---|---|",
        _row("hottest quarter", "the caption", own, 1),
        _row("coldest quarter", "the caption", own, 3),
        _row("hottest quarter", "the caption, on another picture", elsewhere, 1),
        *judged,
        "",
        "A region near to a word of the caption is near to the caption, so the first row holds in part by "
        "construction, even for a model that has learned nothing. What a model has learned shows in how much further "
        "the match falls than on another picture, where the thing is not to be seen"
        + (", and in the match as a model sees it that was trained apart." if judge else "."),
        "",
        f"Nouns drawn most often: {_frequent(cases)}.",
        "",
    ]
    return "\n".join(lines)


def _row(removed: str, judge: str, given: Sequence[Fall], column: int) -> str:
    table = np.array(given).reshape(-1, 4)
    count = max(1, len(table))
    hits = int((table[:, column] > table[:, 2]).sum())
    low, high = interval(hits, count)
    means = [table[:, place].sum() / count for place in (0, column, 2)]
    numbers = " | ".join(f"{mean:.4f}" for mean in means)
    return f"| {removed} | {judge} | {len(table)} | {numbers} | {hits / count:.1%} | {low:.1%} to {high:.1%} |"


def _frequent(cases: Sequence[Case]) -> str:
    nouns = [case.words[case.noun] for case in cases]
    ranked = sorted(set(nouns), key=lambda noun: (-nouns.count(noun), noun))
    return ", ".join(f"{noun} ({nouns.count(noun)})" for noun in ranked[:10])


if __name__ == "__main__":
    main()
