"""Which column of a row holds what: by the usual names, or by those that somebody gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace

from capeval.errors import DataError

USUAL = {
    "caption": ("caption", "candidate", "text", "txt"),
    "references": ("references", "reference"),
    "image": ("image_id", "image", "__key__", "key", "uid", "sample_id", "id"),
    "picture": ("jpg", "jpeg", "png", "webp", "image", "image_bytes", "bytes", "image_path", "path", "file_name"),
}


@dataclass(frozen=True)
class Names:
    """The column of the captions, of their references, of the image's id and of its picture; empty: none."""

    caption: str = ""
    references: str = ""
    image: str = ""
    picture: str = ""

    def found_in(self, header: Sequence[str], binary: Collection[str] = (), source: str = "the rows") -> Names:
        """With the first usual name that the header has, in small letters or large, in place of each that is not given.

        `binary` are the columns that hold pictures themselves; `image` may be such a column, or that of the ids.
        """
        for field in fields(self):
            given = getattr(self, field.name)
            if given and given not in header:
                raise _missing(f"`{given}`", header, source)
        there = {name.lower(): name for name in reversed(header)} | {name: name for name in header}
        unfit: dict[str, set[str]] = {"image": {*binary}, "picture": {there.get("image", "")} - {*binary}}
        found = {
            kind: getattr(self, kind)
            or next((there[name] for name in usual if name in there and there[name] not in unfit.get(kind, ())), "")
            for kind, usual in USUAL.items()
        }
        if not found["caption"]:
            raise _missing(" or ".join(f"`{name}`" for name in USUAL["caption"]), header, source)
        return replace(self, **found)


def _missing(what: str, header: Sequence[str], source: str) -> DataError:
    there = ", ".join(header)
    return DataError(f"there is no column {what}. The columns there are: {there}", file=source)
