"""Writes docs/paper-figures.md and docs/figures/: figures and tables of five papers, redone with our metrics.

    python tools/docs/paper_figures.py [--data ROOT] [--work DIR] [--without METRIC ...]

Needs matplotlib. The first run parses every caption for SPICE, which takes minutes; later runs find the parses in the
cache. On changed captions SPICE is measured with our fast parser (`spice_fast`), which keeps nothing on disk. Scores on
benchmarks are kept in DIR (else in the cache): a later run computes only what has changed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from page import DOCS, keeping, options

from capeval.bench import Settings, robust, run
from capeval.bench.registry import data_root
from capeval.cli.progress import Terminal
from capeval.report import report
from capeval.report.blocks import Figure, Table
from capeval.report.build import Report
from capeval.report.plots import draw
from capeval.run import Run

METRICS = ["bleu_1", "bleu_4", "rouge_l", "meteor", "cider_d", "spice", "spider", "wmd"]
CHANGED = ["bleu_1", "bleu_4", "rouge_l", "meteor", "cider_d", "spice_fast", "wmd"]
QUICK = ["bleu_1", "bleu_4", "rouge_l", "meteor", "cider_d", "wmd"]
COUNTS = (1, 2, 5, 10, 20, 48)

TEXT = """# Figures of the papers, redone

Made by `python tools/docs/paper_figures.py`. The numbers behind the agreement with people, with more tables, are in
[benchmarks.md](benchmarks.md); how captions were changed is told in [tasks/robustness.md](tasks/robustness.md).
`capeval report` draws the same figures from your own results.

## Kilickaya et al. 2017

**Figure 3: correlation between metrics**, those that agree best with people first. Flickr8k-Expert, then Composite with
strict references. CIDEr-D, SPIDEr, METEOR and WMD go together, and BLEU and ROUGE-L do; on Flickr8k SPICE stands apart
from both.

{flickr8k-expert-correlation}
{composite-strict-correlation}
**Figure 4: Williams' test** of each pair of metrics (p-values). Nearly all differences pass for significant, since the
test takes the 16,992 judgements of 5,664 captions for independent. The bootstrap over images, which does not, is in the
second picture.

{flickr8k-expert-williams}
{flickr8k-expert-bootstrap}
**Scores in each grade** (Flickr8k-Expert).

{flickr8k-expert-grades}
**Table 4: accuracy on pairs** (PASCAL-50S, votes, 5 references drawn 5 times).

{pascal}
**Table 5: distraction.** The published pairs cannot be had; these are built from people's captions of the Flickr8k test
images by the same six tasks.

{robust-distractors}
**Best combination.** WMD + SPICE + METEOR, the best one in the paper, is not the best here: see
[benchmarks.md](benchmarks.md#best-combinations) for all combinations of their six metrics on the same data.

## Cui et al. 2018

**Figure 6: robustness.** People's captions of the Flickr8k test images are replaced by captions of other images (RC),
permuted (WP) or filled with random words (RW). R is the area below the curve; lower is better. The learned critique of
the paper is measured in [measured/lece.md](measured/lece.md).

{robust-rc}
{robust-wp}
{robust-rw}
## Jiang et al. 2019 (TIGEr)

**Figure 5: number of references** (PASCAL-50S). One reference costs every metric many points; from twenty on more of
them hardly help.

{pascal-50s-votes-references}
**Figure 7: component sensitivity.** A word is replaced by a similar and by a wrong one; percent of pairs in which the
similar one scores higher. 50 is guessing.

{robust-components}
**Figure 8: errors in grades** (Flickr8k-Expert), scores mapped onto the human scale by rank.

{flickr8k-expert-errors}
"""


def flickr8k_test(root: Path) -> dict[str, list[str]]:
    """People's captions of the test images."""
    wanted = dict.fromkeys((root / "flickr8k/Flickr_8k.testImages.txt").read_text().split())
    captions: dict[str, list[str]] = {image: [] for image in wanted}
    for line in (root / "flickr8k/Flickr8k.token.txt").read_text().splitlines():
        name, text = line.split("\t", 1)
        if (image := name.split("#")[0]) in captions:
            captions[image].append(text)
    return captions


def table(block: Table) -> str:
    """In Markdown; names of metrics as code."""
    rows = [list(block.header), ["---"] * len(block.header)]
    rows += [[f"`{cell.text}`" if cell.code else cell.text for cell in row] for row in block.rows]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def shown(figure: Figure) -> str:
    """The picture, with its numbers below it where they are not in the picture already."""
    path = DOCS / "figures" / f"{figure.name}.svg"
    path.write_bytes(draw(figure.chart, form="svg", title=figure.title))
    return f"![{figure.title}](figures/{path.name})\n\n{table(figure.table) if figure.table else ''}"


def tables_of(made: Report, title: str) -> list[Table]:
    blocks = [block for section in made.sections if section.title == title for block in section.blocks]
    return [block for block in blocks if isinstance(block, Table)]


def main() -> None:
    # Many comparisons need small p-values, which need many resamples.
    parser = options(__doc__ or "", resamples=10_000)
    parser.add_argument("--without", nargs="*", default=[], help="metrics to leave out")
    arguments = parser.parse_args()
    (DOCS / "figures").mkdir(exist_ok=True)
    settings, noting = Settings(resamples=arguments.resamples), Run(progress=Terminal())
    captions = flickr8k_test(data_root(arguments.data))

    def chosen(names: list[str]) -> list[str]:
        return [name for name in names if name not in arguments.without]

    def bench(name: str, names: list[str], **more: Any) -> Callable[[], Any]:
        kept = keeping(name, arguments.work)
        return lambda: run(name, chosen(names), data=arguments.data, run=kept, **({"settings": settings} | more))

    steps: dict[str, Callable[[], Any]] = {
        "flickr8k-expert": bench("flickr8k-expert", METRICS),
        "composite": bench("composite", METRICS, variants=["strict"]),
        "pascal-50s": bench("pascal-50s", METRICS, variants=["votes"]),
        "pascal-50s, references": bench(
            "pascal-50s", QUICK, variants=["votes"], settings=Settings(resamples=1, counts=COUNTS)
        ),
        "curves": lambda: robust.curves(captions, chosen(CHANGED), run=noting),
        "distractors": lambda: robust.distractors(captions, chosen(CHANGED), parser="fast", run=noting),
        "components": lambda: robust.components(captions, chosen(CHANGED), parser="fast", run=noting),
    }
    results: dict[str, Any] = {}
    for name, step in steps.items():
        begin = time.perf_counter()
        results[name] = step()
        print(f"{name}: {time.perf_counter() - begin:.1f} s")
    made = report(list(results.values()))
    parts = {figure.name: shown(figure) for figure in made.figures() if "{" + figure.name + "}" in TEXT}
    parts["pascal"] = table(tables_of(made, "pascal-50s")[0])
    text = TEXT
    for key in re.findall(r"{(.+)}", TEXT):
        text = text.replace("{" + key + "}", parts[key])
    page = DOCS / "paper-figures.md"
    page.write_text(text)
    print(page)


if __name__ == "__main__":
    main()
