"""Writes docs/measured/uice.md: what UICE can do, by the tables of its paper (Zhao et al.) and a few more.

\b
python tools/studies/uice_report.py --features F --bench RESULTS

F: files of features with the pictures of Flickr8k and of Karpathy's validation split (repeat the option). RESULTS: the
JSON files that `capeval bench run NAME -m uice_sem -m uice_syn -m uice --json RESULTS/NAME.json` wrote. What is drawn
at random is drawn with a fixed seed; texts of the data sets are not on the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from uice_parts import Judge, auc, flickrstyle, pairs_won, semstyle, senticap, spearman, spoiled, triples

from capeval.documents import BenchDocument, decode_as
from capeval.documents.types import Estimate
from capeval.train.data import captions, machine_captions, some_of
from capeval.train.pictures import Pool

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uice.md"
SCORES = ("uice_sem", "uice_syn", "uice")
TAU = 0.3


@click.command(help=__doc__)
@click.option("--features", multiple=True, required=True, metavar="FILE")
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
@click.option("--bench", "results", type=click.Path(path_type=Path), metavar="DIR", help="JSON files of `bench run`.")
@click.option("--pictures", default=1000, show_default=True, help="Of Karpathy's validation split, for the systems.")
@click.option("--page", type=click.Path(path_type=Path), default=PAGE, show_default=True)
@click.option("--threads", default=1, show_default=True)
def main(
    features: tuple[str, ...], data: str | None, results: Path | None, pictures: int, page: Path, threads: int
) -> None:
    judge = Judge(Pool(features), threads)
    parts = [
        benchmarks(results) if results else "",
        language(judge, data),
        systems(judge, data, pictures),
        styles(judge, data),
        situations(judge, data),
        unknown_words(judge, data),
    ]
    command = f"python tools/studies/uice_report.py {' '.join('--features F' for _ in features[:1])} --bench RESULTS"
    head = (
        f"# UICE, measured\n\nMade by `{command}` with the shipped checkpoints. [What UICE is](../metrics/uice.md).\n"
    )
    page.write_text("\n".join([head, *filter(None, parts)]), "utf-8")


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def short(value: float) -> str:
    return f"{value:.3f}"


def benchmarks(folder: Path) -> str:
    """Figures of each benchmark and variant, from what `bench run` wrote."""
    rows = []
    for path in sorted(folder.glob("*.json")):
        found = decode_as(BenchDocument, json.loads(path.read_text("utf-8")))
        for tag in dict.fromkeys(" ".join(each.tags.values()) for each in found.metrics):
            mine = {each.metric: each for each in found.metrics if " ".join(each.tags.values()) == tag}
            for figure in next(iter(mine.values())).flat():
                shown = [_estimate(mine[name].flat()[figure]) if name in mine else "" for name in SCORES]
                name = " ".join(filter(None, [found.benchmark, tag, found.human or ""]))
                rows.append([name, next(iter(mine.values())).rows, figure, *shown])
    about = "Values with 95 % intervals over resampled pictures; of THumB, the captions whose picture there is.\n"
    return f"## Agreement with people\n\n{about}\n" + table(["benchmark", "rows", "figure", *SCORES], rows)


def _estimate(each: Estimate) -> str:
    return f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]" if each.low is not None else f"{each.value:.3f}"


def language(judge: Judge, data: str | None) -> str:
    """Human captions of test pictures against permuted and random words, and against machine captions."""
    people = [text for texts in captions("flickr8k", "test", data).values() for text in texts]
    own = judge.syntax(people)
    rows = [[f"{name}, tau 30", len(people), short(auc(own, judge.syntax(spoiled(people, kind, TAU))))]
            for kind, name in (("wp", "permuted words (WP)"), ("rw", "random words (RW)"))]  # fmt: skip
    test = captions("coco", "test", data)
    images = some_of(sorted(test), 1000)
    coco = judge.syntax([test[image][0] for image in images])
    for system, texts in machine_captions("coco_val2014", data, "test").items():
        rows.append([f"captions of {system}", len(images), short(auc(coco, judge.syntax([texts[i] for i in images])))])
    about = (
        "The area under the ROC curve of `uice_syn`: how often a caption that a person wrote scores above one of "
        "the other kind. First the 5,000 captions of Flickr8k's test pictures, then the first caption of 1,000 "
        "pictures of Karpathy's test split. The nine systems, and SATIC, were among the negatives in training, "
        "with other pictures.\n"
    )
    return f"## People's language against others\n\n{about}\n" + table(["against", "captions", "AUC"], rows)


def systems(judge: Judge, data: str | None, count: int) -> str:
    """Table I's form."""
    people = captions("coco", "val", data)
    machines = machine_captions("coco_val2014", data, "val")
    images = some_of(
        [i for i in sorted(people) if i in judge.pool and all(i in each for each in machines.values())], count
    )
    if not images:
        return ""
    rows, means = [], {}
    for system, texts in [*machines.items(), ("people", {i: people[i][0] for i in images})]:
        found = judge.all([texts[i] for i in images], images)
        means[system] = [float(each.mean()) for each in found]
    cider = judge.cider({system: [texts[i] for i in images] for system, texts in machines.items()},
                        [people[i] for i in images])  # fmt: skip
    known = two_fold()
    for system, values in means.items():
        rows.append([system, *map(short, values), short(cider[system]) if system in cider else "",
                     known.get(system, ("", ""))[0], known.get(system, ("", ""))[1]])  # fmt: skip
    shared = [system for system in means if system in known]
    ranks = []
    for place, name in enumerate(SCORES):
        own = [means[system][place] for system in shared]
        ranks.append([name, *(short(spearman(own, other)) for other in (
            [cider[system] for system in shared],
            [float(known[system][1]) for system in shared],
            [float(known[system][0].split(" ")[0]) for system in shared],
        ))])  # fmt: skip
    about = (
        f"Mean scores on {len(images)} pictures of Karpathy's validation split, which the semantic module has not "
        "seen; the fusion was fitted to judgements of some of them. People: the first caption of each picture. "
        "CIDEr-D on the same pictures by all of people's captions; LECE's two-fold score and SPICE from [its "
        "page](lece.md), on other pictures.\n"
    )
    return (
        f"## Systems (the paper's table I)\n\n{about}\n"
        + table(["system", "uice_sem", "uice_syn", "uice", "CIDEr-D", "LECE, two-fold", "SPICE"], rows)
        + "\nRank correlation (Spearman) over the nine systems:\n\n"
        + table(["", "with CIDEr-D", "with SPICE", "with LECE's two-fold ranking"], ranks)
    )


def two_fold() -> dict[str, tuple[str, str]]:
    """By system, LECE's two-fold score with pictures and SPICE, as its page has them."""
    found = {}
    for line in (PAGE.parent / "lece.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) == 7 and re.fullmatch(r"[a-z]+-\d{4}", cells[0]):
            found[cells[0]] = (cells[1].split(" ±")[0], cells[6].split(" ")[0])
    return found


def styles(judge: Judge, data: str | None) -> str:
    """Table II's form."""
    kinds: dict[str, list[str]] = {}
    factual, romantic, humorous = flickrstyle(data)
    kinds["people, factual (Flickr8k)"] = factual
    kinds["people, romantic (FlickrStyle)"] = romantic
    kinds["people, humorous (FlickrStyle)"] = humorous
    outputs = semstyle(data)
    kinds |= {f"{name.replace('_', ' ')} (output)": texts for name, texts in outputs.items()}
    kinds |= {f"people, {name} (SentiCap)": texts for name, texts in senticap(data).items()}
    given = {
        style: {name: judge.syntax(texts, style) for name, texts in kinds.items()} for style in ("photo", "romance")
    }
    rows = [[name, len(texts), *(short(given[style][name].mean()) for style in given)] for name, texts in kinds.items()]
    people = list(kinds)[:3]
    pairs = []
    for style, own in (("photo", 0), ("romance", 1)):
        for other in range(3):
            if other != own:
                won = pairs_won(given[style][people[own]], given[style][people[other]])
                pairs.append([f"`style={style}`", people[own], people[other], f"{100 * won:.1f} %"])
    for system in ("semstyle", "stylenet"):
        fact, love = (f"{system} {kind} (output)" for kind in ("coco", "romance"))
        pairs.append(
            ["`style=photo`", fact, love, f"{100 * pairs_won(given['photo'][fact], given['photo'][love]):.1f} %"]
        )
        pairs.append(
            ["`style=romance`", love, fact, f"{100 * pairs_won(given['romance'][love], given['romance'][fact]):.1f} %"]
        )
    about = (
        "Mean `uice_syn` by style. Pictures of FlickrStyle are those of Flickr8k's validation split, of which no style "
        "has seen a caption. Below, how often a style prefers its own on the same picture; equal scores count half.\n"
    )
    return (
        f"## Styles (the paper's table II)\n\n{about}\n"
        + table(["captions", "number", "style=photo", "style=romance"], rows)
        + "\n"
        + table(["by", "preferred", "to", "pairs"], pairs)
    )


def situations(judge: Judge, data: str | None) -> str:
    """The paper's figure 1."""
    found = triples(judge, data, 300, TAU)
    rows = []
    for place, name in enumerate(SCORES):
        good, other, broken = (each[place] for each in found)
        both = (good > other) & (good > broken)
        rows.append([name, *(f"{100 * each.mean():.1f} %" for each in (both, good > other, good > broken))])
    about = (
        "The paper's figure 1 as 300 triples of Flickr8k test pictures: a person's caption that is least like the"
        " other four by their words, a caption of another picture, and the first with 30 % of its words permuted."
        " Right is the first above both.\n"
    )
    header = ["", "ranked right", "above the other picture's", "above the broken one"]
    return f"## Three situations\n\n{about}\n" + table(header, rows)


def unknown_words(judge: Judge, data: str | None) -> str:
    """Whether a word that is not known passes for a person's."""
    machines = machine_captions("coco_val2014", data, "test")
    test = captions("coco", "test", data)
    images = some_of(sorted(test), 1000)
    rows = []
    for size in (15_000, 10_000):
        for name, texts in (("people", [test[i][0] for i in images]),
                            ("vinyals-2017", [machines["vinyals-2017"][i] for i in images])):  # fmt: skip
            before, after = judge.with_unknown(texts, size)
            rows.append(
                [f"{size:,}", name, short(before.mean()), short(after.mean()), f"{100 * (after > before).mean():.1f} %"]
            )
    about = (
        "One random word of each caption (1,000 of Karpathy's test split) becomes a word that is not known. The "
        "paper enlarged the vocabulary from 10,000 to 15,000 words because such captions passed for people's; for"
        " the smaller one, the rarest 5,000 words are taken away from the same network.\n"
    )
    header = ["words known", "captions of", "mean before", "mean after", "captions that rise"]
    return f"## Words that are not known\n\n{about}\n" + table(header, rows)


if __name__ == "__main__":
    main()
