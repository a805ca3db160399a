"""From a block of rows to what metrics read, with what is wrong with a row beside it instead of an error."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import Any, cast

from capeval.errors import DataError
from capeval.io.captions import References
from capeval.io.captions.table import describe, id_text, problem_with
from capeval.io.captions.texts import cleaned
from capeval.stream.forms.base import Rows
from capeval.stream.names import Names


@dataclass
class Block:
    """The captions of some rows, as columns; `problems` says which rows cannot be scored."""

    captions: list[str]
    references: list[tuple[str, ...]]
    images: list[str]
    pictures: list[bytes | str | None]
    """What the row holds of its picture: bytes, a path, or nothing."""
    problems: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.captions)

    def good(self) -> list[int]:
        return [i for i in range(len(self)) if i not in self.problems] if self.problems else list(range(len(self)))


def block_of(
    rows: Rows,
    names: Names,
    *,
    shard: str = "",
    known: References | None = None,
    needs_references: bool = True,
    needs_pictures: bool = False,
) -> Block:
    """`known` has the references by image, where they do not stand in the rows themselves."""
    problems = dict(rows.broken)
    captions = _captions(rows, names.caption, problems)
    images = _images(rows, names.image, shard, problems)
    references: list[tuple[str, ...]] = [()] * len(rows)
    if known is not None:
        for i, image in enumerate(images):
            references[i] = known.get(image, ())
            if image not in known:
                problems.setdefault(i, f"there are no references for the image {image!r}")
    elif names.references:
        references = _references(rows, names.references, problems)
    if needs_references:
        if known is None and not names.references:
            raise DataError("there is no column of references, and metrics compare with them.", remedy="row_references")
        for i, each in enumerate(references):
            if not each:
                problems.setdefault(i, "it has no references")
    pictures: list[bytes | str | None] = [None] * len(rows)
    if needs_pictures and names.picture:
        pictures = [_picture(value) for value in rows.column(names.picture)]
    return Block(captions, references, images, pictures, problems)


def _captions(rows: Rows, name: str, problems: dict[int, str]) -> list[str]:
    raw = rows.column(name)
    texts = cleaned(raw)
    if None in texts:
        for i, text in enumerate(texts):
            if text is None:
                problems.setdefault(i, problem_with(name, raw[i], "a text"))
    return [text or "" for text in texts]


def _references(rows: Rows, name: str, problems: dict[int, str]) -> list[tuple[str, ...]]:
    values = rows.column(name)
    lists = [value if type(value) is list else [] if value is None or value == "" else [value] for value in values]
    texts = cleaned(chain.from_iterable(lists))
    ends = list(accumulate(map(len, lists), initial=0))
    found = [tuple(texts[begin:end]) for begin, end in pairwise(ends)]
    if None in texts:
        for i, own in enumerate(found):
            if None in own:
                wrong = lists[i][own.index(None)]
                problems.setdefault(i, f"one of its `{name}` is {describe(wrong)}, not a text")
                found[i] = ()
    return cast(list[tuple[str, ...]], found)


def _images(rows: Rows, name: str, shard: str, problems: dict[int, str]) -> list[str]:
    """The id of each row's image. Where rows name none, each has an image of its own."""
    if not name:
        return [f"{shard}:{rows.begin + i}" for i in range(len(rows))]
    found = []
    for i, value in enumerate(rows.column(name)):
        text = value if type(value) is str and value else id_text(value)
        if text is None:
            problems.setdefault(i, problem_with(name, value, "a text or a number"))
        found.append(text or "")
    return found


def _picture(value: Any) -> bytes | str | None:
    """Bytes, a path, or an object that has the one or the other."""
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    return value if isinstance(value, (bytes, str)) and value else None


def image_hash(image: str, references: Sequence[str]) -> bytes:
    """Rows with the same image and the same references share one set of them."""
    text = "\0".join([image, *references])
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
