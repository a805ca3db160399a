"""What the style `photo` was chosen by: captions of our own, and pictures that no test uses.

\b
python tools/studies/uice_choose.py STYLE... --other novels.txt.gz

For each style (a name or a folder): how often a plain caption is preferred to a romantic and to a humorous one of the
same scene (tools/studies/uice_styles.tsv, 50 of each, written for this), and a caption of Flickr8k's validation split
to the same with an ending out of novels; the AUC against permuted and random words; how often a word that becomes
unknown raises the score; and the AUC of people against systems on Karpathy's validation split.
"""

from __future__ import annotations

import csv
from pathlib import Path

import click
import numpy as np
from uice_parts import auc, hidden_words, pairs_won, spoiled

from capeval.runtime.uice import open_syntax, style_source
from capeval.text.tokenize import tokenize
from capeval.train.data import captions, machine_captions, some_of
from capeval.train.tasks.uice_syn.corpus import sentences_of
from capeval.train.tasks.uice_syn.splices import Splices

OWN = Path(__file__).with_name("uice_styles.tsv")
TAU, CAPTIONS, PICTURES = 0.3, 2500, 600


@click.command(help=__doc__)
@click.argument("styles", nargs=-1, required=True)
@click.option("--other", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Sentences of novels.")
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
def main(styles: tuple[str, ...], other: Path, data: str | None) -> None:
    with OWN.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    plain, romantic, humorous = (tokenize([row[kind] for row in rows]) for kind in ("factual", "romantic", "humorous"))
    given = [text for several in captions("flickr8k", "val", data).values() for text in several][:CAPTIONS]
    people = tokenize(given)
    known = frozenset(open_syntax(style_source(styles[0])).vocabulary.spellings)
    splices, random = Splices(people, tokenize(list(sentences_of(other))[::4]), known), np.random.default_rng(0)
    spliced = [splices.splice(text, 20, random) for text in people]
    coco, machines = captions("coco", "val", data), machine_captions("coco_val2014", data, "val")
    images = some_of(sorted(coco), PICTURES)
    first = tokenize([coco[image][0] for image in images])
    for style in styles:
        judge = open_syntax(style_source(style)).judge
        own, facts, theirs = judge(people), judge(plain), judge(first)
        better = (pairs_won(facts, judge(romantic)), pairs_won(facts, judge(humorous)), pairs_won(own, judge(spliced)))
        click.echo("{}: preferred to romantic {:.3f}, to humorous {:.3f}, to spliced {:.3f}".format(style, *better))
        for kind in ("wp", "rw"):
            click.echo(f"  AUC against {kind} {auc(own, judge(spoiled(given, kind, TAU))):.3f}")
        after = judge(hidden_words(people))
        click.echo(f"  a word unknown: {own.mean():.3f} to {after.mean():.3f}, {100 * (after > own).mean():.2f} % rise")
        for system, texts in machines.items():
            machine = judge(tokenize([texts[image] for image in images]))
            click.echo(f"  AUC against {system} {auc(theirs, machine):.3f}")


if __name__ == "__main__":
    main()
