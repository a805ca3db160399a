"""NNEval beside its features on every benchmark that docs/metrics/nneval.md speaks of, with 95 % intervals.

    python tools/studies/nneval_report.py --data DATA [--official]

Flickr8k chose the epoch: flickr8k-expert, flickr8k-cf, distractors and the whole of composite are no tests of NNEval.
Features are kept in the cache, so that a second run only reads them. `--official` adds `nneval(spice=official)` and
`spice`; their grammar is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from nneval_common import scoring, single

from capeval.bench import Settings
from capeval.bench import run as bench
from capeval.metrics.nneval import CHECKPOINTS, FEATURES
from capeval.run import Run
from capeval.runtime.nneval import open_judge

BENCHMARKS = {
    "composite-no-8k": ("published",),
    "composite": ("published",),
    "pascal-50s": ("votes", "labels"),
    "distractors": ("built",),
    "thumb": ("machines",),
    "capeval1k": (),
    "sugarcrepe": (),
    "flickr8k-expert": (),
    "flickr8k-cf": ("published",),
}
_RATED = ("kendall_c", "kendall_b", "pearson", "spearman")


@click.command()
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
@click.option("--official", is_flag=True, help="With the official parses of SPICE too.")
@click.option("--only", multiple=True, help="A benchmark; repeat it for several.")
@click.option("--extra", multiple=True, metavar="EXPR", help="Another metric beside the features.")
@click.option("--resamples", default=1000, show_default=True)
@click.option("--threads", default=2, show_default=True)
def main(
    data: str | None, official: bool, only: tuple[str, ...], extra: tuple[str, ...], resamples: int, threads: int
) -> None:
    """Prints Markdown tables."""
    run = Run(threads=threads)
    functions = [scoring("nneval", open_judge(CHECKPOINTS["fast"]).network, FEATURES["fast"], run)]
    if official:
        network = open_judge(CHECKPOINTS["official"]).network
        functions.append(scoring("nneval(spice=official)", network, FEATURES["official"], run))
    singles = dict.fromkeys([*FEATURES["fast"], "wmd", *(["spice"] if official else []), *extra])
    functions += [single(each, run) for each in singles]
    for name in only or BENCHMARKS:
        found = bench(
            name, functions, data=data, variants=BENCHMARKS[name], allow_seen=True,
            settings=Settings(resamples=resamples), run=run,
        ).to_dict()  # fmt: skip
        for compared in found["comparisons"]:
            tag = {
                key: value
                for key, value in compared.items()
                if key in ("references", "winners", "pairs", "part", "own_captions")
            }
            rows = [row for row in found["metrics"] if all(row.get(key) == value for key, value in tag.items())]
            _print(f"{name} {' '.join(map(str, tag.values()))}", rows)


def _print(title: str, rows: list[dict[str, Any]]) -> None:
    kinds = [key for key in rows[0] if isinstance(rows[0][key], Mapping) and "value" in rows[0][key]]
    kinds = [key for key in _RATED if key in kinds] or kinds
    click.echo(f"\n{title}: {rows[0]['rows']:,} rows\n")
    click.echo("| metric | " + " | ".join(kinds) + " |")
    click.echo("| --- |" + " ---: |" * len(kinds))
    for row in rows:
        click.echo(f"| {row['metric']} | " + " | ".join(_shown(row[kind]) for kind in kinds) + " |")


def _shown(each: Mapping[str, float]) -> str:
    digits = 1 if "spread" in each else 3
    return f"{each['value']:.{digits}f} [{each['low']:.{digits}f}, {each['high']:.{digits}f}]"


if __name__ == "__main__":
    main()
