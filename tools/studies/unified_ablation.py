"""What each part of `unified` is worth: fitted without it, on part B of Crisscrossed Captions, and measured on part C.

    python tools/studies/unified_ablation.py --features val.features [--extra EXPR]

With --single each part and each extra is shown by itself, as it is, before any fit, beside references and pictures.

No benchmark is looked at. Shown are Kendall's tau-b with people for each kind of input, over all judged captions and
over those that were written for another picture, and in brackets how often a worse caption scores as high as the one
that it was made of, in percent.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import click

from capeval.metrics.unified import SAYS, SOUNDS
from capeval.run import Run
from capeval.runtime.unified import INPUTS
from capeval.train.loop import fit
from capeval.train.task import Inputs
from capeval.train.tasks.unified.config import Config
from capeval.train.tasks.unified.task import UnifiedTask, agreement


def shown(task: UnifiedTask) -> str:
    with tempfile.TemporaryDirectory() as folder:
        _, reached = fit(task, Path(folder))
    told = reached.validation
    assert told is not None
    return " | ".join(
        f"{told[f'tau_{name}']:.3f}, {told[f'others_{name}']:.3f} ({100 * told[f'fooled_{name}']:.1f})"
        for name in INPUTS
    )


def show_single(task: UnifiedTask) -> None:
    rows, is_judged = task.kept, task.kept.is_judged
    is_other = is_judged & ~rows.is_own
    print("| part | all | of other pictures |\n| --- | ---: | ---: |")
    for part, scores in zip(task.parts, rows.values.T):
        found = (agreement(rows.targets[which], scores[which]) for which in (is_judged, is_other))
        print(f"| `{part}` | " + " | ".join(f"{each:.3f}" for each in found) + " |")


@click.command(help=__doc__)
@click.option("--features", required=True, metavar="FILE", help="Of the pictures of Crisscrossed Captions.")
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
@click.option("--extra", multiple=True, metavar="EXPR", help="A part that might be added.")
@click.option("--single", is_flag=True, help="Only each part by itself.")
@click.option("--pairs", is_flag=True, help="Leave out two parts at a time, too.")
@click.option("--threads", default=2, show_default=True)
def main(features: str, data: str | None, extra: tuple[str, ...], single: bool, pairs: bool, threads: int) -> None:
    inputs = Inputs(data=None if data is None else Path(data), features=(Path(features),), run=Run(threads=threads))
    every = {name: (*SAYS[name], *(each for each in extra if _fits(each, name))) for name in INPUTS}
    task = UnifiedTask(Config(**every), inputs)
    if single:
        show_single(task)
        return
    usual = Config()
    print("| parts | both | references | pictures |\n| --- | ---: | ---: | ---: |")
    print(f"| as shipped | {shown(task.of_fewer(usual))} |", flush=True)
    parts = tuple(dict.fromkeys(part for name in INPUTS for part in SAYS[name]))
    left_out = [(part,) for part in parts]
    if pairs:
        left_out += [(a, b) for place, a in enumerate(parts) for b in parts[place + 1 :]]
    for each in left_out:
        fewer = {name: tuple(part for part in SAYS[name] if part not in each) for name in INPUTS}
        if all(fewer.values()):
            named = ", ".join(f"`{part}`" for part in each)
            print(f"| without {named} | {shown(task.of_fewer(replace(usual, **fewer)))} |", flush=True)
    for part in SOUNDS:
        fewer_sounds = replace(usual, sound=tuple(each for each in SOUNDS if each != part))
        print(f"| without `{part}` | {shown(task.of_fewer(fewer_sounds))} |", flush=True)
    for part in extra:
        more = {name: (*SAYS[name], *((part,) if _fits(part, name) else ())) for name in INPUTS}
        print(f"| and `{part}` | {shown(task.of_fewer(replace(usual, **more)))} |", flush=True)


def _fits(part: str, inputs: str) -> bool:
    """Whether a metric can be computed from what there is."""
    from capeval.registry import parse

    needs = parse(part).metric.needs()
    return all(inputs in ("both", need) for need in needs)


if __name__ == "__main__":
    main()
