"""Writes docs/judgements.md: the metrics on THumB, CapEval1k, SugarCrepe, VALSE and the reformulations.

    python tools/docs/judgements.py [--data ROOT] [--work DIR]

Scores are kept in DIR (else in the cache): a later run computes only what has changed.
"""

from __future__ import annotations

from typing import Any

from page import DOCS, keeping, options, papers_of, table

from capeval.bench import Settings, run

PAGE = DOCS / "judgements.md"
COUNTED = "coco-val2014"
QUICK = ["bleu_1", "bleu_4(sentence=true)", "rouge_l", "meteor", "cider_d", f"cider_d(df={COUNTED})", "spice_fast"]
PARSED = [*QUICK, "spice", "spider", f"spider(df={COUNTED})"]
STATISTICS = {"pearson": "Pearson", "kendall_b": "tau-b", "kendall_c": "tau-c", "spearman": "Spearman"}

TEXT = """# Newer benchmarks: ratings and pairs

Made by `python tools/docs/judgements.py`; `capeval bench run NAME` gives the same numbers. In brackets are 95 %
intervals from {resamples:,} resamples of images. [How to run them](tasks/bench.md), where their files are published and
how they are laid out.

CIDEr is shown with the document frequencies of the benchmark's own rows (`cider_d`, `spider`), which are others for
every benchmark, and with those of COCO's validation images, whose captions most of the references are:
`df=coco-val2014`. They differ most on SugarCrepe. Compare like with like.

## THumB 1.0

Kasai et al. 2022: four systems' and a person's captions of 500 COCO test images. Precision and recall from 1 to 5;
`total` is their mean less what was taken off for fluency, conciseness and language that is not inclusive. Pearson's
correlation with `total` is the paper's figure; `--human precision` (`recall`, `fluency`) takes another. The person's
caption is one of COCO's and is no reference here; the authors' repository still has it among the references of 42
images. Over systems the score of all captions of a system is compared with its mean judgement: four or five systems are
few.

Without the person's captions (`machines`, {machines:,}). {machines_papers}

{thumb_machines}
With the person's captions (`all`, {everybody:,}). {everybody_papers}

{thumb_all}
Pearson on `machines` with the judgements that `total` is made of:

{thumb_human}
## CapEval1k

Lee et al. 2021 (UMIC): {capeval1k_rows:,} captions of 250 COCO images by four systems; people's mean from 0 to 1, and
Kendall's tau-b. The captions are in lower case and were put together from word pieces. {capeval1k_papers}

{capeval1k}
## SugarCrepe

Hsieh et al. 2023: {sugarcrepe_rows:,} captions of COCO images, each against one whose meaning was changed in fluent
words. Percent of pairs in which the right caption scores higher; a tie is half a pair. `mean` is over all pairs, not
over kinds. The references are the other captions of the image: figures of models that look at the picture instead are
another task's. {sugarcrepe_papers}

{sugarcrepe}
## VALSE

Parcalabescu et al. 2022: {valse_rows:,} captions against foils, of eleven kinds. Three kinds have references; metrics
that need them are measured on these {valse_scored:,} pairs, and the other {valse_left:,} are left out. {valse_papers}

{valse}
## Human reformulations

Berger et al. 2024: {reformulations_rows:,} captions by machines, and a person's correction of each, which is to score
higher. The two share three quarters of their words. {reformulations_papers}

{reformulations}"""


def shown(estimate: dict[str, Any], digits: int) -> str:
    if estimate["value"] is None:
        return "-"
    return f"{estimate['value']:.{digits}f} [{estimate['low']:.{digits}f}, {estimate['high']:.{digits}f}]"


def by_value(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """The best first."""
    return sorted(rows, key=lambda row: -row[key]["value"])


def ratings(rows: list[dict[str, Any]], main: str) -> str:
    keys = [main, *(key for key in STATISTICS if key != main)]
    cells = [
        [f"`{row['metric']}`", *(shown(row[key], 3) for key in keys), f"{row['system_level'][main]:.3f}"]
        for row in by_value(rows, main)
    ]
    return table(["metric", *(STATISTICS[key] for key in keys), f"{STATISTICS[main]} over systems"], cells)


def pairs(rows: list[dict[str, Any]]) -> str:
    kinds = [key for key, value in rows[0].items() if isinstance(value, dict) and key != "mean" and value["n"]]
    cells = [
        [f"`{row['metric']}`", shown(row["mean"], 1), *(f"{row[key]['value']:.1f}" for key in kinds),
         row["worst_kind"], f"{row['ties']:,g}"]
        for row in by_value(rows, "mean")
    ]  # fmt: skip
    return table(["metric", "mean", *(f"{key} ({rows[0][key]['n']:,})" for key in kinds), "worst", "ties"], cells)


def main() -> None:
    arguments = options(__doc__ or "", resamples=1000).parse_args()
    settings = Settings(resamples=arguments.resamples)

    def measured(name: str, metrics: list[str], human: str | None = None) -> dict[str, Any]:
        kept = keeping(name, arguments.work)
        return run(name, metrics, data=arguments.data, human=human, settings=settings, run=kept).to_dict()

    thumb, capeval1k = (measured(name, PARSED) for name in ("thumb", "capeval1k"))
    machines, everybody = ([row for row in thumb["metrics"] if row["part"] == part] for part in ("machines", "all"))
    others = {name: measured("thumb", PARSED, name)["metrics"] for name in ("precision", "recall", "fluency")}
    columns = {"total": machines} | {
        name: [row for row in rows if row["part"] == "machines"] for name, rows in others.items()
    }
    by_metric = {name: {row["metric"]: row["pearson"]["value"] for row in rows} for name, rows in columns.items()}
    sugarcrepe, valse, reformulations = (measured(name, QUICK) for name in ("sugarcrepe", "valse", "reformulations"))
    text = TEXT.format(
        resamples=arguments.resamples,
        machines=machines[0]["rows"],
        everybody=everybody[0]["rows"],
        machines_papers=papers_of("thumb", "machines"),
        everybody_papers=papers_of("thumb", "all"),
        **{f"{name}_papers": papers_of(name) for name in ("capeval1k", "sugarcrepe", "valse", "reformulations")},
        thumb_machines=ratings(machines, "pearson"),
        thumb_all=ratings(everybody, "pearson"),
        thumb_human=table(
            ["metric", *columns],
            [
                [f"`{row['metric']}`", *(f"{found[row['metric']]:.3f}" for found in by_metric.values())]
                for row in machines
            ],
        ),
        capeval1k_rows=capeval1k["rows"],
        capeval1k=ratings(capeval1k["metrics"], "kendall_b"),
        sugarcrepe_rows=sugarcrepe["rows"],
        sugarcrepe=pairs(sugarcrepe["metrics"]),
        valse_rows=valse["rows"],
        valse_scored=valse["metrics"][0]["rows"],
        valse_left=valse["metrics"][0]["left_out"],
        valse=pairs(valse["metrics"]),
        reformulations_rows=reformulations["rows"],
        reformulations=pairs(reformulations["metrics"]),
    )
    PAGE.write_text(text)
    print(PAGE)


if __name__ == "__main__":
    main()
