"""Pictures beside the examples of a report, small and inside the page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec

from capeval.errors import CapevalError
from capeval.io.files import PathLike
from capeval.report.blocks import Block, Example, Examples, Section
from capeval.report.heat import jpeg_uri, shrunk
from capeval.runtime.encoder import decode, read_picture
from capeval.runtime.extract import find_pictures

_LONGEST = 240
_MOST = 80
"""Pictures on a page; each adds some 10 kB."""


def with_pictures(section: Section, images: PathLike | Mapping[str, PathLike] | None) -> Section:
    """The same section, whose examples have their picture where it is found. One that cannot be read is left out."""
    if images is None or find_spec("PIL") is None:
        return section
    files = find_pictures(images) if isinstance(images, str | os.PathLike) else images
    return _Maker(files).section(section)


class _Maker:
    def __init__(self, files: Mapping[str, PathLike]) -> None:
        self.files, self.made = files, set[str]()

    def section(self, section: Section) -> Section:
        blocks = [self.block(each) for each in section.blocks]
        return replace(section, blocks=blocks, sections=[self.section(each) for each in section.sections])

    def block(self, block: Block) -> Block:
        if not isinstance(block, Examples):
            return block
        return replace(block, examples=[self.example(each) for each in block.examples])

    def example(self, example: Example) -> Example:
        path = self.files.get(example.image)
        if path is None or (len(self.made) >= _MOST and example.image not in self.made):
            return example
        self.made.add(example.image)
        return replace(example, picture=thumbnail(os.fspath(path)))


@lru_cache(maxsize=_MOST)
def thumbnail(path: str) -> str:
    """A picture as a data URI; empty for a file that is none."""
    try:
        pixels = decode(read_picture(path), path)
    except CapevalError:
        return ""
    return jpeg_uri(shrunk(pixels, _LONGEST))
