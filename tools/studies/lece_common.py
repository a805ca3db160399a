"""What the studies of LECE share: pictures and captions of a stated size, and cells that are computed once.

Each study trains small critiques. What a cell gave is kept in the work folder, so that a study that was interrupted
goes on, and a study that is run again only reads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np

from capeval.io.captions import read_references
from capeval.io.files import writing
from capeval.models.lece import Lece
from capeval.run import Run
from capeval.train.data import captions, machine_captions
from capeval.train.pictures import Pool
from capeval.train.tasks.lece.material import Material
from capeval.train.tasks.lece.scoring import Scores, read_scores, trained_scores
from capeval.train.tasks.lece.task import LeceTask

Study = Callable[..., None]


def study_options(function: Study) -> Study:
    """The options of every study."""
    for option in (
        click.option("--threads", type=int, default=1, show_default=True, help="Of torch."),
        click.option("--mc", metavar="FILE", help="Monte Carlo samples of a captioner: JSON picture -> captions."),
        click.option("--work", type=click.Path(path_type=Path), required=True, help="Where results are kept."),
        click.option("--data", metavar="ROOT", help="Folder of the data sets."),
        click.option("--features", multiple=True, required=True, metavar="FILE",
                     help="Features of COCO val2014 and Flickr8k pictures."),
    ):  # fmt: skip
        function = option(function)
    return function


@dataclass(frozen=True)
class Source:
    """Pictures that no benchmark uses, with human captions and those of nine systems."""

    pool: Pool
    humans: dict[str, tuple[str, ...]]
    systems: dict[str, dict[str, str]]

    @property
    def machines(self) -> dict[str, list[str]]:
        return {image: [each[image] for each in self.systems.values()] for image in self.humans}

    def split(self, *sizes: int) -> list[list[str]]:
        """Disjoint random sets of pictures."""
        if sum(sizes) > len(self.humans):
            raise click.UsageError(f"there are {len(self.humans)} pictures, {sum(sizes)} are wanted")
        images = sorted(self.humans)
        order = np.random.default_rng(0).permutation(len(images))
        ends = np.cumsum([0, *sizes])
        return [[images[i] for i in np.sort(order[begin:end])] for begin, end in pairwise(ends)]


def coco(features: tuple[str, ...], data: str | None) -> Source:
    """COCO val2014 pictures free for training, with the captions of the nine systems."""
    pool = Pool(features)
    systems = machine_captions("coco_val2014", data, "train")
    everywhere = set.intersection(*(set(each) for each in systems.values()))
    humans = {
        image: texts
        for image, texts in captions("coco", "train", data).items()
        if image in everywhere and image in pool
    }
    return Source(pool, humans, systems)


def flickr8k_test(features: tuple[str, ...], data: str | None) -> Source:
    """The Flickr8k test pictures with the captions of twelve systems: for testing only."""
    pool = Pool(features)
    systems = machine_captions("flickr8k_test", data, "test")
    humans = {image: texts for image, texts in captions("flickr8k", "test", data).items() if image in pool}
    return Source(pool, humans, systems)


def is_done(folder: Path) -> bool:
    return (folder / "seconds.json").is_file()


def cell(
    folder: Path, task: Callable[[], LeceTask], score: Callable[[LeceTask, Lece], Scores], threads: int
) -> dict[str, Any]:
    """The scores of one critique and the seconds that it took, from an earlier run if there was one."""
    note = folder / "seconds.json"
    if is_done(folder):
        return {**read_scores(folder), **json.loads(note.read_text("utf-8"))}
    begin, cpu = time.monotonic(), time.process_time()
    click.echo(f"{folder.name} ...", err=True)
    found = trained_scores(task(), folder, score, Run(threads=threads))
    taken = {"seconds": round(time.monotonic() - begin, 1), "cpu_seconds": round(time.process_time() - cpu, 1)}
    write_json(note, taken)
    return {**found, **taken}


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as stream:
        stream.write((json.dumps(content, indent=2) + "\n").encode())


def material(source: Source, train: list[str], mc: str | None) -> Material:
    """To train on, a stated number of epochs: no pictures to choose one of them with."""
    samples = dict(read_references(mc)) if mc else {}
    return Material(train, (), source.humans, source.machines, samples, vectors=source.pool)
