"""Writes docs/measured/lece.md and its drawings from what the studies and benchmarks have left in the work folder.

\b
capeval train lece --set negatives='["machine"]' --set images=8000 --set epochs=3 --features coco.features \\
    --features flickr8k.features --input machine=flickr8k-captions.json --out W/plain
python tools/studies/lece_shipped.py --work W --coco karpathy-test.features --flickr8k flickr8k.features --plain W/plain
python tools/studies/lece_grid.py    --work W --features coco.features --features flickr8k.features
python tools/studies/lece_systems.py --work W --features coco.features
capeval bench run flickr8k-expert -m lece -m 'lece(negatives=rc)' -m 'lece(context=reference)' \\
    --images IMAGES --format json > W/flickr8k-expert.json        (and flickr8k-cf)
python tools/studies/lece_report.py  --work W
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from lece_shipped import NOT_AUGMENTED

from capeval.report.charts import Chart, Curves, Forest, Interval
from capeval.report.plots import draw
from capeval.runtime.checkpoint import LOG, open_checkpoint

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "measured"
SHIPPED = ("lece", "lece-rc", "lece-reference")
KINDS = {"rc": "captions of other pictures", "wp": "permuted words", "rw": "random words"}


@click.command(help=__doc__)
@click.option("--work", type=click.Path(path_type=Path, exists=True), required=True)
def main(work: Path) -> None:
    parts = ["# LECE: what it can do", "Made by `python tools/studies/lece_report.py`; its `--help` has the commands."]
    parts += _shipped()
    parts += _agreement(work)
    if (shipped := _read(work / "shipped.json")) is not None:
        parts += _unseen(shipped)
    if (grid := _read(work / "grid.json")) is not None:
        parts += _capability(grid)
        parts += _robustness(grid)
    if (systems := _read(work / "systems.json")) is not None:
        parts += _systems(systems)
    else:
        parts += ["## Systems, two-fold", "Not computed yet; `tools/studies/lece_systems.py` does it in a few hours."]
    (MEASURED / "lece.md").write_text("\n\n".join(parts) + "\n", "utf-8")


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _drawn(chart: Chart, name: str, title: str) -> str:
    (MEASURED / f"{name}.svg").write_bytes(draw(chart, title=title))
    return f"![{title}]({name}.svg)"


def _shipped() -> list[str]:
    """Sizes, epochs and validation of the checkpoints in the package."""
    rows = []
    for name in SHIPPED:
        checkpoint = open_checkpoint(name, "lece")
        log = [json.loads(line) for line in checkpoint.path(LOG).read_text("utf-8").splitlines()]
        best = max(log, key=lambda line: line["validation"]["auc"])
        size = sum(path.stat().st_size for path in checkpoint.folder.iterdir()) / 1e6
        rows.append(
            [
                f"`{name}`",
                f"{checkpoint.facts['pictures']:,}",
                f"{best['epoch']} of {len(log)}",
                f"{best['validation']['auc']:.3f}",
                f"{best['validation']['human']:.2f}",
                f"{best['validation']['negative']:.2f}",
                f"{sum(line['seconds'] for line in log) / 60:.0f}",
                f"{size:.1f}",
            ]
        )
    header = ["checkpoint", "pictures", "epoch", "AUC", "human", "negative", "minutes", "MB"]
    return [
        "## The shipped critiques",
        "On validation pictures: the area under the ROC curve of human captions against negatives, and the mean scores "
        "of both. Each stopped before the paper's 30 epochs, when the time for it was over. Minutes are those of the "
        "clock on one thread of a busy machine.",
        _table(header, rows),
    ]


def _agreement(work: Path) -> list[str]:
    rows: dict[str, list[str]] = {}
    for name, key in (("flickr8k-expert", "kendall_c"), ("flickr8k-cf", "kendall_b")):
        for each in (_read(work / f"{name}.json") or {"metrics": []})["metrics"]:
            value = each[key]
            rows.setdefault(each["metric"], []).append(
                f"{value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
            )
    if not rows:
        return []
    return [
        "## Agreement with people",
        "Kendall's tau with the judgements on Flickr8k, by `capeval bench run`; no judgement was used in training. The "
        "paper reports .466 and .295 for its critique trained with captions of other pictures.",
        _table(
            ["metric", "Expert, tau-c", "CrowdFlower, tau-b"], [[f"`{name}`", *found] for name, found in rows.items()]
        ),
    ]


def _unseen(found: dict[str, Any]) -> list[str]:
    rows, areas, drawings = [], [], []
    for name, each in found["critiques"].items():
        figures = [each[f"{data}_{kind}"] for data in ("coco", "flickr8k") for kind in ("human", "machine")]
        rows.append([f"`{name}`", *(f"{value:.3f}" for value in figures)])
        areas.append([f"`{name}`", *(f"{each[f'worse_{kind}']['r']:.3f}" for kind in KINDS)])
    for kind, about in KINDS.items():
        lines = {name: each[f"worse_{kind}"]["curve"] for name, each in found["critiques"].items()}
        chart = Curves(found["gammas"], lines, "share that is changed, gamma", "score, 1 for the human caption")
        drawings.append(_drawn(chart, f"lece-shipped-{kind}", f"Shipped critiques: {about}"))
    return [
        "## The shipped critiques on pictures they have not seen",
        f"Mean scores of human and of machine captions: {found['pictures']:,} pictures of COCO's Karpathy test split "
        f"(nine systems) and {found['pictures']:,} Flickr8k test pictures (twelve systems). `lece(negatives=rc)` was "
        "never shown a machine caption, so it is not asked to tell them.",
        _table(["critique", "COCO human", "machine", "Flickr8k human", "machine"], rows),
        "Human captions of the COCO pictures made worse: R, the area under the curve of the mean score against gamma, "
        "divided by the score of the untouched captions (lower is better). `lece(negatives=rc)` was trained without "
        "permuted and random words; `lece` and `lece(context=reference)` with them."
        + (
            " `lece, not augmented` saw machine captions alone (14,000 of the same pictures, three epochs; it is not "
            "shipped): what augmentation does to R is seen by comparing it with `lece`."
            if NOT_AUGMENTED in found["critiques"]
            else ""
        ),
        _table(["critique", *(f"R, {about}" for about in KINDS.values())], areas),
        *drawings,
    ]


def _capability(grid: dict[str, Any]) -> list[str]:
    sizes = grid["sizes"]
    rows, intervals = [], []
    for each in grid["cells"]:
        name = f"{each['context']}, {each['fusion']}" + ("" if each["augmented"] else ", not augmented")
        figures = [each[f"{data}_{kind}"] for data in ("coco", "flickr8k") for kind in ("human", "machine")]
        rows.append([name, *(f"{value:.3f}" for value in figures), f"{each['cpu_seconds']:.0f}"])
        intervals += [
            Interval(f"{name}: {kind}", each[f"coco_{kind}"], strong=kind == "human") for kind in ("human", "machine")
        ]
    done = sum(each["augmented"] for each in grid["cells"])
    missing = "" if done == 9 else f" Of the nine augmented critiques {done} have been computed so far."
    return [
        "## Capability (the paper's figure 5)",
        f"Critiques trained on {sizes['pictures']:,} COCO val2014 pictures, {sizes['epochs']} epochs, batches of "
        f"{sizes['batch']}, learning rate {sizes['learning_rate']}, dropout {sizes['dropout']}, negatives "
        f"{', '.join(sizes['negatives'])}: far less than the paper's 30 epochs on all of COCO. Mean scores of the "
        f"human and of the machine captions of {sizes['test']:,} other COCO pictures (nine systems) and of "
        f"{sizes['test']:,} Flickr8k test pictures (twelve systems). A good critique is near 1 and 0.{missing}",
        _table(["critique", "COCO human", "machine", "Flickr8k human", "machine", "CPU s"], rows),
        _drawn(Forest(intervals, "mean score on COCO", digits=2), "lece-capability", "Mean scores by critique"),
    ]


def _robustness(grid: dict[str, Any]) -> list[str]:
    tested = [each for each in grid["cells"] if "worse_rc" in each]
    rows, drawings = [], []
    names = [f"{each['fusion']}, {'augmented' if each['augmented'] else 'not augmented'}" for each in tested]
    for name, each in zip(names, tested):
        rows.append([name, *(f"{each[f'worse_{kind}']['r']:.3f}" for kind in KINDS)])
    for kind, about in KINDS.items():
        lines = {name: each[f"worse_{kind}"]["curve"] for name, each in zip(names, tested)}
        chart = Curves(grid["gammas"], lines, "share that is changed, gamma", "score, 1 for the human caption")
        drawings.append(_drawn(chart, f"lece-robustness-{kind}", f"Robustness: {about}"))
    short = ""
    if min(each["worse_rc"]["r"] for each in tested) > 0.95:
        short = " After so short a training none of these looks at the picture; the shipped ones above do."
    return [
        "## Robustness (the paper's figure 6)",
        "Human captions made worse, judged by the same critiques with the picture as context: the mean score, divided "
        "by that of the human captions, as the share gamma of what is changed grows; R is the area under the curve. "
        f"Lower is better.{short}",
        _table(["critique", *(f"R, {about}" for about in KINDS.values())], rows),
        *drawings,
    ]


def _systems(found: dict[str, Any]) -> list[str]:
    sizes, classic = found["sizes"], found["classic"]
    contexts = [context for context in ("image", "reference") if context in found]
    by_context = {context: {row["system"]: row for row in found[context]["rows"]} for context in contexts}
    first = by_context[contexts[0]]
    rows = []
    for system in sorted(first, key=lambda each: -first[each]["mean"]):
        cells = []
        for context in contexts:
            row = by_context[context][system]
            human = sum(row["human"]) / len(row["human"])
            cells += [f"{row['mean']:.3f} ± {row['spread']:.3f} ({_rank(by_context[context], system)})", f"{human:.3f}"]
        for metric in classic[system]:
            order = sorted(classic, key=lambda each: -classic[each][metric])
            cells.append(f"{classic[system][metric]:.3f} ({order.index(system) + 1})")
        rows.append([system, *cells])
    header = ["system"]
    for context in contexts:
        header += [f"two-fold, {context}", "human"]
    kinds = ", ".join(sizes["negatives"]) + (" alone (without augmentation)" if len(sizes["negatives"]) == 1 else "")
    minutes = sum(found[context]["cpu_seconds"] for context in contexts) / 60
    intervals = [
        Interval(f"{system}, {context}", row["mean"], row["mean"] - row["spread"], row["mean"] + row["spread"])
        for context in contexts
        for system, row in by_context[context].items()
    ]
    return [
        "## Nine systems, two-fold (the paper's section 3.5)",
        f"{sizes['pictures']:,} COCO val2014 pictures, half for each fold, {sizes['epochs']} epochs, batches of "
        f"{sizes['batch']}, rate {sizes['learning_rate']}, dropout {sizes['dropout']}, {sizes['seeds']} seeds, "
        f"negatives: {kinds}. "
        "The mean ± standard deviation over the seeds, and the rank. `human`: what the same critiques give to held-out "
        f"human captions. {minutes:.0f} minutes of one core.",
        _table([*header, *(name.replace("_", "-").upper() for name in next(iter(classic.values())))], rows),
        _drawn(Forest(intervals, "two-fold score", digits=3), "lece-systems", "Two-fold scores of nine systems"),
    ]


def _rank(rows: dict[str, Any], system: str) -> int:
    return sorted(rows, key=lambda each: -rows[each]["mean"]).index(system) + 1


if __name__ == "__main__":
    main()
