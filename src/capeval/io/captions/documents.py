"""JSON documents that data sets come as: which list in them has the captions, and by what name images go.

- COCO, nocaps, VizWiz: `annotations` with `image_id` and `caption`, and `images` with the names of each
- Karpathy's dataset_*.json: `images`, each with its `sentences` and its `split`
- MSR-VTT: `sentences` with `video_id` and `caption`, and `videos` with the `split` of each
- TextCaps: `data`, a row for each caption, which also has all captions of its image
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from capeval.errors import DataError, counted
from capeval.io.captions.layout import Reading
from capeval.io.captions.rows import of_split
from capeval.io.captions.table import ANNOTATIONS, Kind, Table, describe, id_text, made_table

Rows = Sequence[Mapping[str, Any]]


def table_of_document(document: Mapping[Any, Any], source: str, kind: Kind, reading: Reading) -> Table | None:
    """The captions of a data set's document; None where it is none of these."""
    readers: tuple[tuple[str, Callable[..., Table | None]], ...] = (
        ("annotations", _coco),
        ("sentences", _msrvtt),
        ("images", _karpathy),
        ("data", _textcaps),
    )
    for key, reader in readers:
        if key in document and (table := reader(document, source, kind, reading)):
            return table
    return None


def _coco(document: Mapping[Any, Any], source: str, kind: Kind, reading: Reading) -> Table:
    rows = _rows(document["annotations"], "annotations", source)
    unfit = [row for row in rows if row.get("is_rejected") is True or row.get("is_precanned") is True]
    if unfit:
        rows = [row for row in rows if not (row.get("is_rejected") is True or row.get("is_precanned") is True)]
        reading.tell(f"{source}: VizWiz: {counted(len(unfit), 'caption')} marked as rejected or precanned left out")
    names = [row.get("image_id", row.get("image", UNSET)) for row in rows]
    media = document.get("images")
    media = _rows(media, "images", source) if isinstance(media, list) else []
    rows, names = _of_media_split(rows, names, media, ("id",), reading, source)
    chosen = reading.chosen_id([key for image in media[:1] for key in image])
    if chosen:
        names = _renamed(names, media, "id", chosen[0], source)
        reading.tell(f"{source}: images by `{chosen[0]}`")
    columns = {"image_id": names, "caption": [row.get("caption", UNSET) for row in rows]}
    return made_table(source, _as(kind), columns, "entry", range(1, len(rows) + 1))


def _msrvtt(document: Mapping[Any, Any], source: str, kind: Kind, reading: Reading) -> Table:
    rows = _rows(document["sentences"], "sentences", source)
    names = [row.get("video_id", row.get("image_id", UNSET)) for row in rows]
    videos = document.get("videos")
    media = _rows(videos, "videos", source) if isinstance(videos, list) else []
    rows, names = _of_media_split(rows, names, media, ("video_id", "id"), reading, source)
    columns = {"image_id": names, "caption": [row.get("caption", UNSET) for row in rows]}
    reading.tell(f"{source}: MSR-VTT's sentences, {counted(len(rows), 'caption')} by `video_id`")
    return made_table(source, _as(kind), columns, "entry", range(1, len(rows) + 1))


def _karpathy(document: Mapping[Any, Any], source: str, kind: Kind, reading: Reading) -> Table | None:
    images = document["images"]
    if not isinstance(images, list) or not images or "sentences" not in _mapping(images[0]):
        return None
    images = _rows(images, "images", source)
    there = sorted({str(image.get("split", "")) for image in images})
    images = of_split(images, lambda image: image.get("split", ""), reading, source)
    chosen = reading.chosen_id(list(images[0]))
    name = chosen[0] if chosen else next((key for key in ("cocoid", "filename", "imgid") if key in images[0]), "imgid")
    ids: list[Any] = []
    captions: list[Any] = []
    for image in images:
        for sentence in _rows(image.get("sentences", UNSET), "sentences", source):
            ids.append(image.get(name, UNSET))
            captions.append(sentence.get("raw", UNSET))
    parts = "" if reading.split else f" of all its splits ({', '.join(there)})"
    reading.tell(f"{source}: Karpathy's file, {counted(len(images), 'image')}{parts}, by `{name}`")
    columns = {"image_id": ids, "caption": captions}
    return made_table(source, _as(kind), columns, "entry", range(1, len(ids) + 1))


def _textcaps(document: Mapping[Any, Any], source: str, kind: Kind, reading: Reading) -> Table | None:
    data = document["data"]
    if not isinstance(data, list) or not data or not {"caption_str", "reference_strs"} & _mapping(data[0]).keys():
        return None
    rows = of_split(_rows(data, "data", source), lambda row: row.get("set_name", ""), reading, source)
    name = (reading.chosen_id(list(rows[0])) or ("image_id",))[0]
    ids: list[Any] = []
    captions: list[Any] = []
    seen: set[str | None] = set()
    for row in rows:
        image, all_of_it = row.get(name, UNSET), row.get("reference_strs")
        if not isinstance(all_of_it, list):
            ids.append(image)
            captions.append(row.get("caption_str", UNSET))
        elif id_text(image) not in seen:  # the list of its image stands in each of its rows
            seen.add(id_text(image))
            ids += [image] * len(all_of_it)
            captions += all_of_it
    reading.tell(f"{source}: TextCaps, {counted(len(ids), 'caption')} by `{name}`")
    columns = {"image_id": ids, "caption": captions}
    return made_table(source, _as(kind), columns, "entry", range(1, len(ids) + 1))


def _as(kind: Kind) -> Kind:
    """Captions in annotations are references, and candidates where somebody asks how people do."""
    return kind if kind.noun == "candidates" else ANNOTATIONS


def _rows(value: Any, name: str, source: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, (list, tuple)):
        raise DataError(f"`{name}` must be a list, not {describe(value)}", file=source)
    for number, row in enumerate(value, 1):
        if not isinstance(row, Mapping):
            raise DataError(f"entry {number} of `{name}` is {describe(row)}; an object is needed", file=source)
    return list(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of_media_split(
    rows: list[Mapping[str, Any]], names: list[Any], media: Rows, keys: Sequence[str], reading: Reading, source: str
) -> tuple[list[Mapping[str, Any]], list[Any]]:
    """The rows of images that are in the wanted split, which stands with the images."""
    if not reading.split:
        return rows, names
    key = next((each for each in keys if media and each in media[0]), keys[0])
    split = {id_text(image.get(key)): image.get("split", "") for image in media}
    kept = of_split(list(zip(rows, names, strict=True)), lambda pair: split.get(id_text(pair[1]), ""), reading, source)
    return [row for row, _ in kept], [name for _, name in kept]


def _renamed(names: Sequence[Any], media: Rows, key: str, chosen: str, source: str) -> list[Any]:
    """Images by another of the names that the document has for them."""
    other = {id_text(image.get(key)): image.get(chosen, UNSET) for image in media}
    lacking = [text for name in names if (text := id_text(name)) not in other and text is not None]
    if lacking:
        raise DataError(f"images without `{chosen}`.", file=source, ids=list(dict.fromkeys(lacking)))
    return [other.get(id_text(name), UNSET) for name in names]
