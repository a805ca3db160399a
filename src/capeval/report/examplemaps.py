"""Heat maps for the examples of a report, where there are pictures and scores by TIGEr."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace

from capeval.errors import CapevalError
from capeval.io.files import PathLike
from capeval.metrics.grounding import CHECKPOINT
from capeval.metrics.tiger import Tiger
from capeval.registry import parse
from capeval.report.blocks import Block, Example, Examples, HeatMaps, Section
from capeval.report.heat import shrunk
from capeval.run import Run
from capeval.runtime.extract import find_pictures
from capeval.runtime.grounding import Grounder
from capeval.types import Features

_LONGEST = 320
_MOST = 40
"""Examples of one result that have maps; each adds some 60 kB to the page."""


def with_maps(
    section: Section,
    metrics: Collection[str],
    images: PathLike | Mapping[str, PathLike] | None,
    features: PathLike | Features | None = None,
    run: Run | None = None,
) -> Section:
    """The same section, whose examples have heat maps if TIGEr is among the metrics. An example without its picture, or
    without a word that the model knows, stays as it is.
    """
    checkpoint = next(filter(None, map(_checkpoint, sorted(metrics))), None)
    if images is None or checkpoint is None:
        return section
    files = find_pictures(images) if isinstance(images, str | os.PathLike) else images
    return _Maker(Grounder(files, checkpoint=checkpoint, features=features, run=run)).section(section)


class _Maker:
    def __init__(self, grounder: Grounder) -> None:
        self.grounder, self.left = grounder, _MOST

    def section(self, section: Section) -> Section:
        blocks = [self.block(each) for each in section.blocks]
        return replace(section, blocks=blocks, sections=[self.section(each) for each in section.sections])

    def block(self, block: Block) -> Block:
        if not isinstance(block, Examples):
            return block
        return replace(block, examples=[self.example(each) for each in block.examples])

    def example(self, example: Example) -> Example:
        grounder = self.grounder
        if not self.left or example.image not in grounder or not grounder.reads(example.caption):
            return example
        self.left -= 1
        references = [text for text in example.references if grounder.reads(text)]
        found = grounder.ground(example.image, example.caption, references)
        small = replace(found, pixels=shrunk(found.pixels, _LONGEST))  # full ones would fill the memory
        return replace(example, maps=HeatMaps(small, words_of_references=False))


def _checkpoint(name: str) -> str | None:
    """The model behind a score, if it is one of TIGEr."""
    try:
        metric = parse(name).metric
    except CapevalError:  # a name that a file brings
        return None
    return metric.checkpoint or CHECKPOINT if isinstance(metric, Tiger) else None
