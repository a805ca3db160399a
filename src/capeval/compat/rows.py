"""From `gts` and `res`, as the tools for COCO captions take them, to a data set of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.errors import DataError
from capeval.types import Dataset

Captions = Mapping[Any, Sequence[str]]
Results = Captions | Sequence[Mapping[str, Any]]
"""id -> [caption], or [{"image_id": id, "caption": [caption]}, ...], in which an id may come several times."""


def dataset_of(gts: Captions, res: Results) -> Dataset:
    """One row for each caption of `res`, in the order of `gts`; of a list, in its own order.

    Every row has references of its own: a document-frequency that counts them counts an image as often as it comes.
    """
    keys, candidates = _by_id(gts, res) if isinstance(res, Mapping) else _listed(gts, res)
    ids = [str(key) for key in keys]
    references = [gts[key] for key in keys]
    _refuse("gts must have a list of captions for each id, not a text.", keys, [isinstance(r, str) for r in references])
    _refuse("gts must have at least one caption for each id.", keys, [not len(each) for each in references])
    names = ids if len(set(ids)) == len(ids) else [f"{i}:{name}" for i, name in enumerate(ids)]
    return Dataset(names, ids, candidates, [tuple(each) for each in references], range(len(ids)))


def _by_id(gts: Captions, res: Captions) -> tuple[list[Any], list[str]]:
    if set(gts) != set(res):
        odd = [str(key) for key in set(gts) ^ set(res)]
        raise DataError(f"gts and res must have the same ids; {len(odd)} are in one only.", ids=sorted(odd))
    keys = list(gts)
    return keys, _single(keys, [res[key] for key in keys])


def _listed(gts: Captions, res: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[str]]:
    if not all(isinstance(row, Mapping) and {"image_id", "caption"} <= set(row) for row in res):
        raise DataError('res must be a dict id -> [caption], or a list of {"image_id": id, "caption": [caption]}')
    keys = [row["image_id"] for row in res]
    _refuse("res has ids that gts has not.", keys, [key not in gts for key in keys])
    return keys, _single(keys, [row["caption"] for row in res])


def _single(keys: Sequence[Any], captions: Sequence[Sequence[str]]) -> list[str]:
    _refuse("res must have a list of captions for each id, not a text.", keys, [isinstance(c, str) for c in captions])
    _refuse("res must have one caption for each id.", keys, [len(each) != 1 for each in captions])
    return [each[0] for each in captions]


def _refuse(message: str, keys: Sequence[Any], at_fault: Sequence[bool]) -> None:
    if any(at_fault):
        raise DataError(message, ids=[str(key) for key, is_bad in zip(keys, at_fault) if is_bad])
