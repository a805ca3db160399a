"""Writes docs/benchmarks.md: how well the metrics agree with people on every benchmark.

    python tools/docs/benchmarks.py [--data ROOT] [--images ROOT] [--work DIR] [--without METRIC ...]

The first run parses every caption for SPICE, which takes minutes; later runs find the parses in the cache. Scores are
kept in DIR (else in the cache): a later run computes only what has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from page import DOCS, keeping, options, papers_of, table

from capeval.bench import BenchmarkResult, Part, Ratings, Settings, run
from capeval.bench.analysis import by_grade, rank_mapped_errors
from capeval.bench.combining import best_combinations
from capeval.bench.forms import ScoresByMetric

PAGE = DOCS / "benchmarks.md"
METRICS = ["bleu_1", "bleu_4", "rouge_l", "meteor", "cider", "cider_d", "spice", "spider", "spice_fast", "wmd"]
TEXT_ONLY = ["lece(context=reference)"]
LOOKING = ["lece", "lece(negatives=rc)", "tiger"]
QUICK = ["bleu_1", "bleu_4", "rouge_l", "meteor", "cider_d"]
# The metrics of Kilickaya et al., and the combination they found best.
SIX = ["bleu_4", "rouge_l", "meteor", "cider_d", "spice", "wmd"]
THEIRS = {"wmd", "spice", "meteor"}
# Many comparisons need small p-values, which need many resamples.
TENFOLD = 10
COUNTS = (1, 2, 5, 10, 20, 48)
# What becomes of candidates that are references of their own image.
WAYS = ("published", "strict", "kept")
# As papers give them. On Flickr8k-Expert the SPICE paper and those after it agree to the third digit of tau-c; tau-b on
# Flickr8k-CF is in the README of PAC-S, SPICE's in later tables. CIDEr is CIDEr-D in all of them.
QUOTED = ("bleu_1", "bleu_4", "rouge_l", "meteor", "cider_d", "spice")
EXPERT_TAU_C = dict(zip(QUOTED, (".323", ".308", ".323", ".418", ".439", ".449")))
CF_TAU_B = {"published": dict(zip(QUOTED, (".17946", ".16863", ".19903", ".22269", ".24619", ".2442")))}
COMPOSITE_TAU_C = {
    "published": dict(zip(QUOTED, ("", ".306", ".324", ".389", ".377", ".403"))),
    "strict": dict(zip(QUOTED, (".280", ".205", ".307", ".379", ".378", ".419"))),
}
STATISTICS = ("kendall_c", "kendall_b", "spearman", "pearson")
NAMES = {"kendall_c": "tau-c", "kendall_b": "tau-b", "spearman": "Spearman", "pearson": "Pearson"}

TEXT = """# How well the metrics agree with people

Made by `python tools/docs/benchmarks.py`; `capeval bench run NAME` gives the same numbers. In brackets are 95 %
intervals from resamples of images ({resamples:,}; {more:,} for Flickr8k-Expert): captions of one image are not
independent, so textbook intervals would be too narrow. CIDEr's document frequencies are counted over the rows of the
benchmark, each row's references once for each row.

A metric of your own stands beside them: as a Python function that gives one score for each row of a `Dataset`,

```python
import capeval.bench

capeval.bench.run("flickr8k-expert", ["cider_d", my_function]).to_dict()
```

or as a file: `capeval bench rows NAME` prints the captions with their ids, and `capeval bench run NAME --scores FILE`
takes CSV or JSONL with an `id` and scores. A learned metric says in `trained_on` which images and judgements it has
seen, in the words of `capeval bench list --format json` (`holds`), and is refused where it has seen the benchmark;
`--allow-seen` shows it, marked. All benchmarks in one table: [the leaderboard](leaderboard.md). To add a benchmark, add
one file to `capeval/bench/loaders`, or name a `capeval.bench.Benchmark` of your own package in the entry-point group
`capeval.benchmarks`. Metrics that look at pictures (`lece`, `lece(negatives=rc)` and `tiger`) are measured on the rows
whose picture is there; `rows` says how many, where not all are.

## Flickr8k-Expert

{expert_rows:,} judgements: three experts' grades of 5,664 captions. The 158 candidates that are captions of their own
image are left out. {expert_papers}

{expert}
p-values of no difference in tau-c (paired bootstrap over images, Holm's correction):

{expert_p}
Williams' test of Pearson's correlations (two-sided p; it takes the judgements for independent):

{williams}
Correlation between the metrics (Spearman):

{between}
### Best combinations

Each metric scaled to [0, 1], then added; all {combinations} sets of up to three metrics, ranked by tau-c.

{best}
Kilickaya et al. (2017) found WMD + SPICE + METEOR best of all combinations of their six metrics, by Spearman's
correlation: .66 on Flickr8k and .45 on Composite, against .64 and .42 for SPICE alone. With all combinations of the
same six here:

{kilickaya}
### Scores in each grade

Median, with the middle half in brackets. A metric that agrees with people rises from left to right without overlap.

{grades}
### Where the metrics err

Scores mapped onto the human scale by rank (TIGEr, appendix A.1), less the grade: the share of judgements by the size of
the error.

{errors}
## Flickr8k-CF

{cf_rows:,} captions with the share of people who say that the caption fits; tau-b is the usual statistic. 721 of them
were written for the very image, so they are among its references.

`published`, the default: all rows, and a judged caption that is a reference of its image is taken out of that image's
references, for all its rows (`download.py` of CLIPScore). {flickr8k-cf_published_papers}

{flickr8k-cf_published}
`strict`: the 721 captions are left out. {flickr8k-cf_strict_papers}

{flickr8k-cf_strict}
`kept`: they stay, and each is taken out of the references of its own row only. {flickr8k-cf_kept_papers}

{flickr8k-cf_kept}
## Composite

{composite_rows:,} captions. In 4,007 rows the candidate is one of its image's references. Letters are compared, since
candidates were published in lower case and without some of the punctuation ("starbuck s" for "Starbuck 's").

`published`, the default: all candidates of an image are taken out of its references, for all its rows.
{composite_published_papers}

{composite_published}
`strict`: the row's candidate alone is taken out. {composite_strict_papers} Its BLEU-4 stands apart, on Flickr8k too
(.138).

{composite_strict}
`kept`: all references stay, and every metric looks better than it is. {composite_kept_papers}

{composite_kept}
## PASCAL-50S

{pascal_rows:,} pairs; percent of pairs in which the metric prefers the caption that people prefer, ties count one half.
HC: two correct captions by people; HI: one of them of another image; HM: person and machine; MM: two machines. There
are two published truths, and `capeval bench run` shows both.

`votes`: the majority of 11 votes on each pair (`pair_pascal.mat`) and 5 of 50 references, drawn 5 times (after ± the
standard deviation over the draws). {pascal-50s_votes_papers} NNEval's table 2 has 53.5, 95.6, 91.1, 57.3 for BLEU-1
and 61.1, 97.6, 94.6, 62.0 for METEOR; TIGEr's has 51.2, 95.7, 91.2, 58.2 and 56.7, 97.6, 94.2, 63.4.

{pascal-50s_votes}
`labels`: the labels and the one draw of references in `pairs_5refs.json`. {pascal-50s_labels_papers} They have 63.8,
97.7, 93.7, 65.4 for METEOR, mean 80.1. Of these 4,000 labels 561 go against the votes: 356 in HC, 186 in MM, 16 in HM
and 3 in HI, 23 of them against a vote of 11 to 0. They are probably the majority of the authors' other study, in which
people compared both captions with one reference at a time. Which of the two a paper used shows in its HC column.

{pascal-50s_labels}
Mean accuracy with the votes, against the number of references:

{references}
## Distractors

{distractor_rows:,} pairs built from people's captions of the Flickr8k test images in the manner of Hodosh and
Hockenmaier 2016 ([how](tasks/robustness.md)); percent of pairs in which the correct caption scores higher than the
distracted one. {distractors_papers}

{distractors}
## ABSTRACT-50S

{abstract_rows} pairs with 48 references; only HI, since the votes on two correct captions are not public. `spice` and
`spider` are left out: their references would take long to parse. {abstract_papers}

{abstract}
## COCO 2015

{coco_rows} systems (with people and chance) of the captioning challenge; correlation of the leaderboard's scores with
M1 (as good as a person's caption or better) and M2 (passes for a person's), over the {coco_used} that have both. Some
teams replaced their submission after it was judged, and Tsinghua Bigeye came back as another team with another system:
it is left out (`--variant name` takes it in). {coco_papers}

{coco}"""


def shown(estimate: dict[str, Any], digits: int = 4) -> str:
    return f"{estimate['value']:.{digits}f} [{estimate['low']:.{digits}f}, {estimate['high']:.{digits}f}]"


def name_of(row: dict[str, Any]) -> str:
    """With the number of rows where some have no picture."""
    return f"`{row['metric']}`" + (f" ({row['rows']:,} rows)" if row.get("left_out") else "")


def correlations(rows: list[dict[str, Any]], published: dict[str, str] | None = None, of: str = "tau-c") -> str:
    header = ["metric", *NAMES.values(), *([f"published {of}"] if published else [])]
    cells = []
    for row in rows:
        line = [name_of(row), *(shown(row[key]) for key in STATISTICS)]
        cells.append(line + ([published.get(row["metric"], "")] if published else []))
    return table(header, cells)


def accuracies(rows: list[dict[str, Any]]) -> str:
    keys = [key for key, value in rows[0].items() if isinstance(value, dict) and key != "mean"] + ["mean"]
    cells = [
        [name_of(row), *(f"{shown(row[key], 2)} ±{row[key]['spread']:.2f}" for key in keys), f"{row['ties']:g}"]
        for row in rows
    ]
    words = [key.upper() if len(key) == 2 else key.replace("_", " ") for key in keys]
    return table(["metric", *words, "ties"], cells)


def matrix(names: list[str], values: list[list[float]], digits: int = 3) -> str:
    def cell(i: int, j: int) -> str:
        return "" if i == j else f"{values[i][j]:.{digits}f}"

    rows = [[f"`{name}`", *(cell(i, j) for j in range(len(names)))] for i, name in enumerate(names)]
    return table(["", *(f"`{name}`" for name in names)], rows)


def ratings_of(part: Part) -> tuple[Ratings, ScoresByMetric]:
    assert isinstance(part.form, Ratings)
    return part.form, part.scores


def expert_sections(outcome: BenchmarkResult) -> dict[str, str]:
    found = outcome.to_dict()
    ratings, scores = ratings_of(outcome.parts[0])
    compared, names = found["comparisons"][0], list(scores)
    best = best_combinations(ratings, scores, size=3)
    return {
        "expert": correlations(found["metrics"], EXPERT_TAU_C),
        "expert_papers": papers_of("flickr8k-expert"),
        "expert_p": matrix(names, compared["p_bootstrap_holm"]),
        "williams": matrix(names, compared["p_williams"]),
        "between": matrix(names, compared["spearman_between_metrics"], 2),
        "combinations": str(len(best)),
        "best": table(["metrics", "tau-c"], [[" + ".join(each.metrics), f"{each.value:.4f}"] for each in best[:8]]),
        "grades": grades(ratings, scores),
        "errors": errors(ratings, scores),
    }


def kilickaya(expert: BenchmarkResult, composite: BenchmarkResult) -> str:
    """Their combination among all of their metrics."""
    rows = []
    places = [("Flickr8k-Expert", expert.parts[0]), *((f"Composite, {part.variant}", part) for part in composite.parts)]
    for name, part in places:
        ratings, scores = ratings_of(part)
        six = {metric: scores[metric] for metric in SIX if metric in scores}
        best = best_combinations(ratings, six, size=len(six), statistic="spearman")
        theirs = [(rank, each) for rank, each in enumerate(best, 1) if set(each.metrics) == THEIRS]
        alone = [each for each in best if each.metrics == ("spice",)]
        if theirs and alone:
            (rank, found), first = theirs[0], best[0]
            shown_best = f"{' + '.join(first.metrics)}: {first.value:.4f}"
            rows.append(
                [name, f"{found.value:.4f} (number {rank} of {len(best)})", f"{alone[0].value:.4f}", shown_best]
            )
    return table(["", "WMD + SPICE + METEOR", "SPICE", "best"], rows)


def grades(ratings: Ratings, scores: ScoresByMetric) -> str:
    rows, header = [], ["metric"]
    for name, values in scores.items():
        found = by_grade(ratings, values, (0.25, 0.5, 0.75))
        header = ["metric", *(f"grade {grade:g}" for grade in found)]
        cells = [each.quantiles for each in found.values()]
        rows.append([f"`{name}`", *(f"{middle:.3f} [{low:.3f}, {high:.3f}]" for low, middle, high in cells)])
    return table(header, rows)


def errors(ratings: Ratings, scores: ScoresByMetric) -> str:
    rows = []
    for name, values in scores.items():
        size = abs(rank_mapped_errors(ratings, values))
        shares = [(size < 0.5).mean(), ((size >= 0.5) & (size < 1.5)).mean(), ((size >= 1.5) & (size < 2.5)).mean()]
        rows.append([f"`{name}`", *(f"{100 * share:.1f} %" for share in [*shares, (size >= 2.5).mean()])])
    return table(["metric", "below 0.5", "0.5 to 1.5", "1.5 to 2.5", "2.5 and more"], rows)


def sections(found: dict[str, Any], key: str, shown_rows: Callable[[str, list[dict[str, Any]]], str]) -> dict[str, str]:
    """By variant its table, and the papers that it can be compared with."""
    name, parts = found["benchmark"], {}
    for variant in dict.fromkeys(row[key] for row in found["metrics"]):
        rows = [row for row in found["metrics"] if row[key] == variant]
        parts[f"{name}_{variant}"] = shown_rows(variant, rows)
        parts[f"{name}_{variant}_papers"] = papers_of(name, variant)
    return parts


def coco_table(found: dict[str, Any]) -> str:
    cells = []
    for row in found["metrics"]:
        line = [f"`{row['metric']}`"]
        for measure in ("m1", "m2"):
            for key in ("pearson", "spearman", "kendall_b"):
                estimate = row[measure][key]
                line.append(f"{estimate['value']:.3f} (p {estimate['p']:.3f})")
        cells.append(line)
    kinds = [f"{measure} {name}" for measure in ("M1", "M2") for name in ("Pearson", "Spearman", "tau-b")]
    return table(["metric", *kinds], cells)


def main() -> None:
    parser = options(__doc__ or "", resamples=1000)
    parser.add_argument("--images", help="folder of the pictures; without it metrics that look at them are left out")
    parser.add_argument("--without", nargs="*", default=[], help="metrics to leave out")
    arguments = parser.parse_args()
    all_metrics = [*METRICS, *TEXT_ONLY, *(LOOKING if arguments.images else [])]
    metrics = [name for name in all_metrics if name not in arguments.without]
    blind = [name for name in metrics if name not in (*LOOKING, "spice", "spider")]
    settings = Settings(resamples=arguments.resamples)

    def measured(name: str, chosen: list[str] | None, **options: Any) -> BenchmarkResult:
        begin = time.perf_counter()
        images = arguments.images if chosen and set(LOOKING) & set(chosen) else None
        outcome = run(
            name,
            chosen,
            data=arguments.data,
            images=images,
            settings=options.pop("settings", settings),
            run=keeping(name, arguments.work),
            **options,
        )
        print(f"{name}: {time.perf_counter() - begin:.1f} s")
        return outcome

    expert = measured("flickr8k-expert", metrics, settings=Settings(resamples=TENFOLD * arguments.resamples))
    composite = measured("composite", metrics, variants=WAYS)
    cf, abstract, coco, pascal, distractors = (
        measured(name, chosen, **options).to_dict()
        for name, chosen, options in (
            ("flickr8k-cf", metrics, {"variants": WAYS}),
            ("abstract-50s", blind, {}),
            ("coco-2015", None, {}),
            ("pascal-50s", metrics, {}),
            ("distractors", blind, {}),
        )
    )
    one = Settings(resamples=1, counts=COUNTS)
    curve = measured("pascal-50s", QUICK, variants=["votes"], settings=one).to_dict()
    curves = curve["comparisons"][0]["by_references"]["mean"]
    text = TEXT.format(
        resamples=arguments.resamples,
        more=TENFOLD * arguments.resamples,
        expert_rows=expert.rows,
        **expert_sections(expert),
        cf_rows=cf["rows"],
        **sections(cf, "own_captions", lambda way, rows: correlations(rows, CF_TAU_B.get(way), "tau-b")),
        kilickaya=kilickaya(expert, composite),
        composite_rows=composite.rows,
        **sections(composite.to_dict(), "references", lambda way, rows: correlations(rows, COMPOSITE_TAU_C.get(way))),
        pascal_rows=pascal["rows"],
        **sections(pascal, "winners", lambda way, rows: accuracies(rows)),
        references=table(
            ["metric", *map(str, COUNTS)],
            [[f"`{name}`", *(f"{v:.2f}" for v in values)] for name, values in curves.items()],
        ),
        distractor_rows=distractors["rows"],
        distractors=accuracies(distractors["metrics"]),
        distractors_papers=papers_of("distractors", "built"),
        abstract_rows=abstract["rows"],
        abstract=accuracies(abstract["metrics"]),
        abstract_papers=papers_of("abstract-50s"),
        coco_rows=coco["rows"],
        coco_used=coco["metrics"][0]["rows"],
        coco=coco_table(coco),
        coco_papers=papers_of("coco-2015", "number"),
    )
    PAGE.write_text(text)
    print(PAGE)


if __name__ == "__main__":
    main()
