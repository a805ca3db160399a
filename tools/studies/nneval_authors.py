"""The NNEval authors' own weights on our features, beside what their paper says.

    python tools/studies/nneval_authors.py authors_checkpoint156.npz --data DATA

The weights are not part of capeval. The ranges that the authors scaled their features by were not published with them,
so two are tried: 0 to 1 for every feature, and those of the network that comes with capeval. Their WMD is by word2vec's
vectors, in a range of its own; vectors of length 1 (`wmd(normalize=true)`) come nearer to it, and are tried too.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from nneval_common import scoring

from capeval.bench import Settings
from capeval.bench import run as bench
from capeval.metrics.nneval import Nneval, features
from capeval.run import Run
from capeval.runtime.nneval import Layer, Network, open_judge
from capeval.types import Array

PAPER = {
    "composite": "kendall .404, pearson .532, spearman .524",
    "pascal-50s": "60.4 99.0 92.1 70.4, 80.5",
}
_CIDER = 7  # the last feature, which the authors divide by 10


def authors_network(path: Path, low: Array, high: Array) -> Network:
    """Their network, with ranges in our features' numbers."""
    with np.load(path, allow_pickle=False) as stored:
        names = ("hiddenlayer.layer1.{}1", "hiddenlayer.layer2.{}2", "out_layer.out.{}_out")
        layers = [Layer(*(stored[name.format(kind)].astype(np.float64) for kind in ("W", "b"))) for name in names]
    made = Network(low, high, (low + high) / 2, tuple(layers))
    if made.layers[0].weights.shape[0] != len(low) or made.layers[-1].bias.shape != (2,):
        raise click.UsageError(f"{path}: not a network of {len(low)} features")
    return made


@click.command()
@click.argument("weights", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
@click.option("--spice", type=click.Choice(["spice", "spice_fast"]), default="spice", show_default=True)
@click.option("--resamples", default=1000, show_default=True)
def main(weights: Path, data: str | None, spice: str, resamples: int) -> None:
    """Prints the authors' network and ours on Composite and PASCAL-50S."""
    run = Run()
    expressions, unit = features(spice, "wmd"), features(spice)
    zero, one = np.zeros(len(expressions)), np.ones(len(expressions))
    one[_CIDER] = 10.0
    ours = open_judge("nneval").network
    plain, fitted = authors_network(weights, zero, one), authors_network(weights, ours.low, ours.high)
    functions = [
        scoring("authors_0_to_1", plain, expressions, run),
        scoring("authors_0_to_1_unit_vectors", plain, unit, run),
        scoring("authors_our_ranges_unit_vectors", fitted, unit, run),
    ]
    settings = Settings(resamples=resamples)
    for name, variants in (("composite", ["published"]), ("composite-no-8k", ["published"]), ("pascal-50s", ["votes"])):
        metrics = [*functions, Nneval()]
        found = bench(name, metrics, data=data, variants=variants, settings=settings, allow_seen=True, run=run)
        for row in found.to_dict()["metrics"]:
            kinds = ("kendall_c", "pearson", "spearman", "hc", "hi", "hm", "mm", "mean")
            shown = "  ".join(f"{kind} {row[kind]['value']:.4g}" for kind in kinds if kind in row)
            click.echo(f"{name:16} {row['metric']:28} {shown}")
        if name in PAPER:
            click.echo(f"{name:16} {'paper':28} {PAPER[name]}")


if __name__ == "__main__":
    main()
