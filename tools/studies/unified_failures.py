"""Where `unified` fails: the rows of each benchmark on which it and people differ most.

    python tools/studies/unified_failures.py --images PHOTOS [--rows 15] [--benchmark NAME]... [-m EXPR]

Ratings: rows by the difference of two ranks, that of people's mean and that of the score, each from 0 to 1; those that
score too high come first, then those that score too low. Pairs: those where the caption that people did not choose
scores higher, the widest first. For reading; nothing is fitted to it.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
import numpy as np
from scipy.stats import rankdata

from capeval.bench.pairs import Pairs
from capeval.bench.ratings import Ratings
from capeval.bench.registry import benchmark, load
from capeval.bench.runner import pictures_of
from capeval.bench.scoring import Scorer
from capeval.run import Run
from capeval.types import Array, Dataset, Features, Sample

NAMES = ("flickr8k-expert", "composite", "thumb", "capeval1k", "pascal-50s")
VARIANTS = {"pascal-50s": "labels", "thumb": "machines"}
SHOWN = 2


@click.command(help=__doc__)
@click.option("--images", required=True, metavar="PHOTOS", help="Folder of the pictures.")
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
@click.option("--benchmark", "names", multiple=True, default=NAMES, metavar="NAME")
@click.option("--rows", default=15, show_default=True)
@click.option("-m", "metric", default="unified", show_default=True, metavar="EXPR")
@click.option("--threads", default=2, show_default=True)
def main(images: str, data: str | None, names: Iterable[str], rows: int, metric: str, threads: int) -> None:
    run = Run(threads=threads)
    for name in names:
        form = load(name, data, VARIANTS.get(name), run)
        pictures = pictures_of(benchmark(name), form, images, None, run)
        print(f"\n## {name}")
        if isinstance(form, Ratings):
            show_ratings(form, scores(form.dataset, pictures, metric, run), rows)
        elif isinstance(form, Pairs):
            show_pairs(form, pictures, metric, run, rows)


def scores(dataset: Dataset, pictures: Features | None, metric: str, run: Run) -> Array:
    """NaN where there is no picture."""
    table = Scorer.of([metric], run=run, pictures=pictures, skip_missing_pictures=True).score(dataset)
    (found,) = table.per_caption.values()
    return np.asarray(found)


def show_ratings(form: Ratings, found: Array, rows: int) -> None:
    people = np.nanmean(form.human, axis=1)
    there = np.flatnonzero(np.isfinite(found) & np.isfinite(people))
    apart = (rankdata(found[there]) - rankdata(people[there])) / len(there)
    order = np.argsort(-apart, kind="stable")
    for title, places in (("too high", order[:rows]), ("too low", order[::-1][:rows])):
        print(f"\n{title}:")
        for row in there[places].tolist():
            dataset = form.dataset
            print(f"  {found[row]:.2f}  people {people[row]:.2f}  {dataset.candidates[row].strip()}")
            for text in dataset.reference_sets[dataset.group[row]][:SHOWN]:
                print(f"              {text.strip()}")


def show_pairs(form: Pairs, pictures: Features | None, metric: str, run: Run, rows: int) -> None:
    drawn = form.drawn or max(map(len, form.references))
    samples = [
        Sample(f"{form.ids[row]}/{side}", form.images[row], text, form.references[row][:drawn])
        for row in range(form.rows)
        for side, text in enumerate((form.first[row], form.second[row]))
    ]
    found = scores(Dataset.from_samples(samples), pictures, metric, run).reshape(-1, 2)
    chosen = np.where(form.first_wins, 0, 1)
    every = np.arange(form.rows)
    apart = found[every, 1 - chosen] - found[every, chosen]
    for kind in dict.fromkeys(form.categories):
        mine = np.flatnonzero((np.asarray(form.categories) == kind) & (apart > 0))
        print(f"\n{kind}, the other one scores higher in {len(mine)} of {list(form.categories).count(kind)}:")
        for row in mine[np.argsort(-apart[mine], kind="stable")][:rows].tolist():
            texts = (form.first[row].strip(), form.second[row].strip())
            best, other = chosen[row], 1 - chosen[row]
            print(f"  {found[row, other]:.2f}  {texts[other]}\n  {found[row, best]:.2f}  {texts[best]}  <- people")
            print(f"              {form.references[row][0].strip()}")


if __name__ == "__main__":
    main()
