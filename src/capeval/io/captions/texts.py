"""From a table of raw values to captions: one set of checks for all formats."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from msgspec import UNSET

from capeval.io.captions.layout import PLAIN, Reading
from capeval.io.captions.table import Table, id_text, is_encodable, problem_with, repeats

References = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Candidates:
    """Candidate captions as columns; row i of each belongs to caption i."""

    source: str
    ids: list[str]
    images: list[str]
    captions: list[str]
    systems: list[str]
    lines: Sequence[int] = field(default=(), compare=False, repr=False)
    """The line of each row in the file, where its format has lines; only error messages need it."""
    references: References | None = field(default=None, repr=False)
    """Those that stand in the same file, where somebody looked for them."""
    by_line: bool = False
    """Whether captions go by the number of their line, as their references must then."""


def candidates_of(table: Table, reading: Reading = PLAIN) -> Candidates:
    if reading.several:
        table = one_a_row(table)
    own_ids = table.columns.get("id", ())
    images = _ids(table, *table.column(table.kind.image_names), own_ids)
    captions = _captions(table, *table.column(table.kind.text_names), images)
    ids, systems = images, [""] * len(images)
    if reading.several:
        own_ids = _numbered_ids(images, systems_of(table, images), own_ids)
    if own_ids:
        given = [image if own is UNSET else own for image, own in zip(images, own_ids, strict=True)]
        ids = _ids(table, "id", given, images)
    systems = systems_of(table, images)
    _refuse_repeats(table, ids, systems)
    lines = table.numbers if table.unit == "line" else ()
    own = own_references(table, images) if "references" in table.columns else None
    return Candidates(table.source, ids, images, captions, systems, lines, own, table.by_line)


def systems_of(table: Table, images: list[str]) -> list[str]:
    return _systems(table, table.columns["system"], images) if "system" in table.columns else [""] * len(images)


def one_a_row(table: Table) -> Table:
    """The same candidates, where a row has a list of them, in a row each."""
    text, captions = next(
        ((name, table.columns[name]) for name in table.kind.text_names if name in table.columns), ("", [])
    )
    if {list, tuple}.isdisjoint(map(type, captions)):
        return table
    lists = [value if isinstance(value, (list, tuple)) else [value] for value in captions]
    counts = [len(each) for each in lists]
    columns = {
        name: [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
        for name, values in table.columns.items()
    }
    columns[text] = [caption for each in lists for caption in each]
    numbers = [number for number, count in zip(table.numbers, counts, strict=True) for _ in range(count)]
    return replace(table, columns=columns, numbers=numbers)


def _numbered_ids(images: list[str], systems: list[str], own: Sequence[Any]) -> list[Any]:
    """Ids for several captions of an image: those of their own, else `IMAGE#1`, `IMAGE#2`, ..."""
    keys = list(zip(images, systems, strict=True))
    counts, seen = Counter(keys), Counter[Any]()
    ids: list[Any] = []
    for key, given in zip(keys, own or [UNSET] * len(images), strict=True):
        seen[key] += 1
        numbered = key[0] if counts[key] == 1 else f"{key[0]}#{seen[key]}"
        ids.append(numbered if given is UNSET else given)
    return ids


def own_references(table: Table, images: list[str]) -> References:
    """References that stand in the rows of the candidates; rows of one image have the same."""
    raw = table.columns["references"]
    lists = [value if isinstance(value, (list, tuple)) else [value] for value in raw]
    sets = [tuple(cleaned(texts)) for texts in lists]
    bad = [i for i, texts in enumerate(sets) if not texts or None in texts]
    table.refuse(bad, "no references in this row, or one that is no text", images)
    found: dict[str, tuple[str | None, ...]] = {}
    others = [i for i, image in enumerate(images) if found.setdefault(image, sets[i]) != sets[i]]
    table.refuse(others, "other references than an earlier row of the image has", images)
    return cast(References, found)


def _refuse_repeats(table: Table, ids: list[str], systems: list[str]) -> None:
    again = repeats(list(zip(ids, systems, strict=True)) if any(systems) else ids)
    if again and ("id" not in table.columns or table.columns["id"][again[0]] is UNSET):
        problem, remedy = "more than one candidate for an image. Give each row its own `id`, or a `system`", "several"
    else:
        problem, remedy = "repeated id", ""
    table.refuse(again, problem, ids, remedy)


def references_of(table: Table) -> References:
    if table.by_line:  # a blank line is no reference, but its image counts
        captions = table.columns[table.kind.text_names[0]]
        return {image: tuple(texts) for image, texts in zip(table.columns["image_id"], captions, strict=True)}
    image_name, images = table.column(table.kind.image_names)
    name, texts = table.column(table.kind.text_names)
    if not {list, tuple}.isdisjoint(map(type, texts)):
        return _listed_references(table, name, texts, _ids(table, image_name, images))
    if set(map(type, images)) != {int}:  # integers are right as they are, and become text once per image below
        images = _ids(table, image_name, images)
    grouped: defaultdict[Any, list[str]] = defaultdict(list)
    for image, caption in zip(images, _captions(table, name, texts, images), strict=True):
        grouped[image].append(caption)
    return {str(image): tuple(captions) for image, captions in grouped.items()}


def _listed_references(table: Table, name: str, raw: list[Any], images: list[str]) -> References:
    """Each row holds all references of its image."""
    lists = [value if isinstance(value, (list, tuple)) else [value] for value in raw]
    table.refuse([i for i, texts in enumerate(lists) if not texts], "an image with no references", images)
    sets = [tuple(cleaned(texts)) for texts in lists]
    bad = [i for i, texts in enumerate(sets) if None in texts]
    if bad:
        value = lists[bad[0]][sets[bad[0]].index(None)]
        table.refuse(bad, problem_with(name, value, "a text"), images)
    table.refuse(repeats(images), "more than one list of references for an image", images)
    return cast(References, dict(zip(images, sets, strict=True)))


def _ids(table: Table, name: str, raw: list[Any], known: Sequence[Any] = ()) -> list[str]:
    """Ids as text: 7, "7" and 7.0 are the same. `known` are other ids of the rows, for messages."""
    if set(map(type, raw)) <= {str, int, float}:
        # Once per distinct value, and equal ids become one object.
        text_of = {value: id_text(value) for value in set(raw)}
        texts = [text_of[value] for value in raw]
    else:
        texts = list(map(id_text, raw))
    return _complete(table, name, raw, texts, known, "a text or a number")


def _systems(table: Table, raw: list[Any], images: list[str]) -> list[str]:
    texts = ["" if value is UNSET or value == "" else id_text(value) for value in raw]
    return _complete(table, "system", raw, texts, images, "a text or a number")


def _captions(table: Table, name: str, raw: list[Any], images: list[Any]) -> list[str]:
    return _complete(table, name, raw, cleaned(raw), images, "a text")


def _complete(
    table: Table, name: str, raw: list[Any], texts: list[str | None], known: Sequence[Any], wanted: str
) -> list[str]:
    """The texts, once it is sure that none of them is None, which stands for a raw value of the wrong type."""
    if None in texts:
        bad = [i for i, text in enumerate(texts) if text is None]
        is_list = name in table.kind.text_names or name in table.called.values()
        several = "several" if is_list and isinstance(raw[bad[0]], (list, tuple)) and len(raw[bad[0]]) > 1 else ""
        table.refuse(bad, problem_with(name, raw[bad[0]], wanted), known, several)
    return cast(list[str], texts)


# These are the line breaks of str.splitlines: whatever splits a list of captions into lines must not split a caption.
_LINE_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def cleaned(raw: Iterable[Any]) -> list[str | None]:
    """Captions with spaces for line breaks; None for what is no caption."""
    # Almost all captions are printable, which rules out both line breaks and lone surrogates.
    return [text if type(text) is str and text.isprintable() else _caption_text(text) for text in raw]


def _caption_text(value: Any) -> str | None:
    if not isinstance(value, str) or not is_encodable(value):
        return None
    return _LINE_BREAK.sub(" ", value)
