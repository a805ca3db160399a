"""Which columns of a table hold what, by the names that people give them; and what a user says about that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from capeval.errors import DataError
from capeval.io.captions.table import CANDIDATES, Kind

# Names beyond our own, which come first wherever they stand (`Kind.image_names`, `Kind.text_names`).
IMAGES = (
    "file_name", "filename", "fname", "image_name", "img_id", "imgid", "img", "cocoid", "video_id", "videoID",
    "VideoID", "video", "youtube_id", "clip_id", "audio_id", "audio",
)  # fmt: skip
PREDICTIONS = (
    "prediction", "predicted", "pred", "pred_caption", "predicted_caption", "caption_predicted", "hypothesis", "hyp",
    "generated_caption", "generated", "output", "response", "candidates", "predictions", "captions", "mult_candidates",
)  # fmt: skip
TRUTHS = (
    "references", "reference", "refs", "ref", "ground_truths", "ground_truth", "gts", "gt", "gt_captions", "gt_caption",
    "targets", "target", "mult_references",
)  # fmt: skip
REFERENCE_TEXTS = (
    *TRUTHS,
    "enCap",
    "reference_strs",
    "comment",
    "Description",
    "raw",
    "sentence",
    "annotations_captions",
)
# Beside one of these, a column `caption` may as well hold a reference.
_CERTAIN = ("prediction", "predicted_caption", "pred_caption", "caption_predicted", "hypothesis", "generated_caption")
_NUMBERED = re.compile(r"(.*?)_?(\d+)$")
_STEMS = ("caption", "caption_reference", "reference", "references", "ref", "refs", "gt", "target")

# Well-known tables by their columns, so that the note can name them.
_KNOWN = (
    ("Clotho's table", {"file_name", "caption_1"}),
    ("the table of aac-metrics", {"caption_predicted", "caption_1"}),
    ("AudioCaps' table", {"audiocap_id", "youtube_id"}),
    ("VATEX", {"videoID", "enCap"}),
    ("Flickr30k's table", {"image_name", "comment"}),
    ("MSVD's table", {"VideoID", "Description"}),
)


def _silent(message: str) -> None:
    pass


@dataclass(frozen=True)
class Reading:
    """How captions are to be read: what a user says of their columns, and who hears what was made of them."""

    id: tuple[str, ...] = ()
    """Columns with the id of the image: each file goes by the first that it has. `a,b` puts two together as `a_b`."""
    caption: str = ""
    """The column of the candidate captions."""
    references: tuple[str, ...] = ()
    """Columns with references."""
    split: tuple[str, ...] = ()
    """The parts to take of a file that says of each image which part it belongs to."""
    several: bool = False
    """Whether an image may have several candidates without ids of their own; their ids are then `IMAGE#1`, ..."""
    own_references: bool = False
    """Whether references are looked for in the file of the candidates."""
    tell: Callable[[str], None] = _silent
    found: set[str] = field(default_factory=set, compare=False)
    """Which of the names above were there in some file."""

    def not_found(self) -> list[str]:
        wanted = dict.fromkeys([*self.id, *([self.caption] if self.caption else []), *self.references])
        return [name for name in wanted if name not in self.found]

    def chosen_id(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of the first id that these names have."""
        for choice in self.id:
            parts = tuple(part.strip() for part in choice.split(","))
            if set(parts) <= set(names):
                self.found.add(choice)
                return parts
        return ()

    def columns(self, given: str, names: Sequence[str]) -> tuple[str, ...]:
        """The column of that name, or the numbered ones (`ref` for `ref_1`, `ref_2`)."""
        chosen = (given,) if given in names else numbered(names, given)
        if chosen:
            self.found.add(given)
        return chosen


PLAIN = Reading()


@dataclass(frozen=True)
class Layout:
    """Which columns hold what. Without an image, rows go by their number."""

    image: tuple[str, ...]
    texts: tuple[str, ...]
    own: tuple[str, ...] = ()
    """`id` and `system`, where they are columns of their own."""
    references: tuple[str, ...] = ()
    """Of candidates that bring their references."""

    def columns(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys([*self.image, *self.texts, *self.own, *self.references]))

    def described(self, names: Iterable[str]) -> str:
        known = next((form for form, wanted in _KNOWN if wanted <= set(names)), "a table")
        by = f"images by {_quoted(self.image)}" if self.image else "one image a row"
        beside = f", references from {_quoted(self.references)}" if self.references else ""
        return f"{known}: {by}, captions from {_quoted(self.texts)}{beside}"


def layout_of(names: Sequence[str], kind: Kind, reading: Reading, source: str) -> Layout | None:
    """How a table with these columns is read; None where they are ours, or nothing can be made of them."""
    image = reading.chosen_id(names)
    texts = _texts(names, kind, reading, source)
    references = _own_references(names, reading, source) if kind is CANDIDATES else ()
    references = tuple(name for name in references if name not in texts)
    usual = not (image or references) and any(name in names for name in kind.image_names)
    if usual and texts and texts[0] in kind.text_names and len(texts) == 1:
        return None
    image = image or _image(names, kind, source)
    if not texts or not (image or references):
        return None
    own = tuple(name for name in ("id", "system") if name in names and name not in image and kind is CANDIDATES)
    return Layout(image, texts, own, references)


def _image(names: Sequence[str], kind: Kind, source: str) -> tuple[str, ...]:
    for name in kind.image_names:
        if name in names:
            return (name,)
    return _one(IMAGES, names, "the id of the image", "id_column", source) or (("id",) if "id" in names else ())


def _texts(names: Sequence[str], kind: Kind, reading: Reading, source: str) -> tuple[str, ...]:
    if kind is CANDIDATES:
        if reading.caption and (chosen := reading.columns(reading.caption, names)):
            return chosen
        usual = next((name for name in kind.text_names if name in names), "")
        rivals = [name for name in _CERTAIN if name in names and usual == "caption"]
        if rivals:
            _refuse(source, "the caption", [usual, *rivals], "caption_column")
        return (usual,) if usual else _one(PREDICTIONS, names, "the caption", "caption_column", source)
    chosen = tuple(name for given in reading.references for name in reading.columns(given, names))
    if chosen:
        return chosen
    usual = next((name for name in kind.text_names if name in names), "")
    counted = [group for stem in _STEMS if (group := numbered(names, stem))]
    if usual and not counted:
        return (usual,)
    if usual and usual != "caption":
        return (usual,)
    if len(counted) > 1 or (usual and counted):
        _refuse(
            source, "references", [*([usual] if usual else []), *(group[0] for group in counted)], "reference_columns"
        )
    return counted[0] if counted else _one(REFERENCE_TEXTS, names, "references", "reference_columns", source)


def _own_references(names: Sequence[str], reading: Reading, source: str) -> tuple[str, ...]:
    if not reading.own_references:
        return ()
    chosen = tuple(name for given in reading.references for name in reading.columns(given, names))
    if chosen:
        return chosen
    counted = [group for stem in _STEMS if (group := numbered(names, stem))]
    there = [name for name in TRUTHS if name in names]
    if len(counted) + len(there) > 1:
        _refuse(source, "references", [*there, *(group[0] for group in counted)], "reference_columns")
    return counted[0] if counted else tuple(there)


def _one(known: Sequence[str], names: Sequence[str], what: str, remedy: str, source: str) -> tuple[str, ...]:
    there = [name for name in known if name in names]
    if len(there) > 1:
        _refuse(source, what, there, remedy)
    return tuple(there)


def _refuse(source: str, what: str, names: Sequence[str], remedy: str) -> None:
    message = f"{' and '.join(f'`{name}`' for name in names)} may all hold {what}"
    raise DataError(message, file=source, remedy=remedy)


def numbered(names: Sequence[str], stem: str) -> tuple[str, ...]:
    """`caption_1`, `caption_2`, ... in their order, for the stem `caption`."""
    found = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match and match[1] == stem:
            found.append((int(match[2]), name))
    return tuple(name for _, name in sorted(found))


def _quoted(names: Sequence[str]) -> str:
    if len(names) > 2:
        return f"`{names[0]}` to `{names[-1]}`"
    return " and ".join(f"`{name}`" for name in names)
