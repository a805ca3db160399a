"""From a request to what is to be scored: JSON, or a form with files, read under the limits.

Files of clients get names of ours in a folder that goes with the job. No path and no URL that a client names is opened.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

import msgspec

from capeval.api import refuse_unequal
from capeval.errors import DataError
from capeval.io import captions
from capeval.io.files import format_from_name, opened
from capeval.runtime.encoder import require_pillow
from capeval.types import Dataset, Selection
from capeval.web.refusals import Refused, allowed
from capeval.web.settings import Limits

_CHUNK = 1 << 20
_ENTRY = b"PK\x01\x02"
"""What every line of an archive's contents begins with."""
_PICTURES = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp"}
"""What browsers show and Pillow reads; other kinds could only be offered for download."""


class ScoreRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `POST /v1/score` takes as JSON."""

    candidates: list[str | dict[str, Any]] | dict[str, str]
    """Captions in order, rows as in COCO results (`image_id`, `caption`, maybe `id` and `system`), or id -> caption."""
    references: list[str | list[str] | dict[str, Any]] | dict[str, str | list[str]] | None = None
    """Lists of captions in the same order, rows, or id -> captions."""
    metrics: list[str] | None = None
    """Expressions such as `bleu_4` or `cider_d(df=coco-val2014)`; without any, every metric that can be computed."""
    tokenizer: Literal["ptb", "none"] = "ptb"
    per_caption: bool = False
    """Whether the answer has the scores of each caption too."""
    intervals: bool = False
    """Whether the answer has 95 % bootstrap intervals."""


@dataclass(frozen=True)
class Upload:
    """A file of a form, as it came: its name is a client's word and no path."""

    name: str
    file: IO[bytes]


@dataclass
class Form:
    """What a form with files holds."""

    candidates: list[Upload] = field(default_factory=list)
    references: list[Upload] = field(default_factory=list)
    images: list[Upload] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    tokenizer: str = "ptb"
    per_caption: bool = False
    intervals: bool = False


@dataclass(frozen=True)
class Order:
    """What is to be scored, and how."""

    dataset: Dataset
    metrics: list[Selection] | None
    tokenizer: str = "ptb"
    per_caption: bool = False
    intervals: bool = False
    images: dict[str, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    name: str = ""


def order_from_json(body: bytes, limits: Limits) -> Order:
    try:
        wanted = msgspec.json.decode(body, type=ScoreRequest)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Refused(f"the request is not what it should be: {problem}") from None
    notes: list[str] = []
    if isinstance(wanted.candidates, list) and isinstance(wanted.references, list):
        refuse_unequal(wanted.candidates, wanted.references)
    reading = captions.Reading(own_references=wanted.references is None, tell=notes.append)
    candidates = captions.candidates_from(wanted.candidates, reading=reading)
    known = None if wanted.references is None else captions.references_from(wanted.references, reading=reading)
    return _order(candidates, known, wanted, {}, limits, notes)


def order_from_form(form: Form, folder: Path, limits: Limits) -> Order:
    """Reads the files by copies in the folder, which pictures stay in."""
    if not form.candidates:
        raise Refused("there is no file `candidates`")
    if form.tokenizer not in ("ptb", "none"):
        raise Refused("tokenizer is ptb or none")
    notes: list[str] = []
    reading = captions.Reading(own_references=not form.references, tell=notes.append)
    parts = [captions.read_candidates(kept(each, folder, f"candidates-{i}", limits), reading)
             for i, each in enumerate(form.candidates, 1)]  # fmt: skip
    together = parts[0] if len(parts) == 1 else _as_systems(parts, [each.name for each in form.candidates])
    known = None
    if form.references:
        paths = [kept(each, folder, f"references-{i}", limits) for i, each in enumerate(form.references, 1)]
        known = captions.read_references(*paths, reading=reading)
    images = keep_pictures(form.images, folder / "pictures", limits)
    named = ", ".join(shown_name(each.name) for each in form.candidates)
    return _order(together, known, form, images, limits, notes, named)


def _order(
    candidates: captions.Candidates,
    known: captions.References | None,
    wanted: ScoreRequest | Form,
    images: dict[str, Path],
    limits: Limits,
    notes: Sequence[str],
    name: str = "",
) -> Order:
    if len(candidates.ids) > limits.rows:
        raise Refused(
            f"{len(candidates.ids):,} captions are more than the {limits.rows:,} that are scored at once", 413
        )
    selections = allowed(wanted.metrics) if wanted.metrics else None
    dataset = captions.join(candidates, known).dataset
    longest = max(map(len, dataset.candidates), default=0)
    for references in dataset.reference_sets:
        longest = max([longest, *map(len, references)])
        if len(references) > limits.references:
            raise Refused(f"an image has {len(references):,} references; {limits.references:,} are allowed", 413)
    if longest > limits.caption_characters:
        raise Refused(f"a caption has {longest:,} characters; {limits.caption_characters:,} are allowed", 413)
    told = (*notes, *captions.remarks(dataset))
    return Order(
        dataset, selections, wanted.tokenizer, wanted.per_caption, wanted.intervals, images, told,
        name or f"{len(dataset):,} captions",
    )  # fmt: skip


def _as_systems(parts: Sequence[captions.Candidates], names: Sequence[str]) -> captions.Candidates:
    """Several files are several systems, called as the files unless their rows say otherwise."""
    stems = [PurePosixPath(shown_name(name)).name.split(".")[0] or f"file {i}" for i, name in enumerate(names, 1)]
    if len(set(stems)) < len(stems):
        stems = [f"{stem} ({i})" for i, stem in enumerate(stems, 1)]
    systems = [each or stem for part, stem in zip(parts, stems) for each in part.systems]
    references = None
    for part in parts:
        if part.references is not None:
            references = {**(references or {}), **part.references}
    return captions.Candidates(
        "candidates",
        [key for part in parts for key in part.ids],
        [image for part in parts for image in part.images],
        [text for part in parts for text in part.captions],
        systems,
        references=references,
    )


def shown_name(name: str) -> str:
    """The last part of a file's name, short enough for messages."""
    return PurePosixPath(name.replace("\\", "/").replace("\0", "")).name[:80]


def kept(upload: Upload, folder: Path, name: str, limits: Limits) -> Path:
    """A copy under a name of ours, with the ending that tells its form."""
    given = upload.name.lower()
    form = format_from_name(given)
    path = folder / f"{name}{f'.{form}' if form else '.txt' if given.endswith('.txt') else ''}"
    start = upload.file.read(4)
    upload.file.seek(0)
    with path.open("wb") as copy:
        shutil.copyfileobj(upload.file, copy, _CHUNK)
    if form == "parquet" or start == b"PAR1":
        raise Refused(f"{shown_name(upload.name)}: Parquet is not read from clients; give JSON, JSONL, CSV or TSV", 415)
    if start[:2] == b"\x1f\x8b":
        _refuse_bomb(path, limits)
    return path


def _refuse_bomb(path: Path, limits: Limits) -> None:
    size = 0
    with opened(path) as stream:
        while data := stream.read(_CHUNK):
            size += len(data)
            if size > limits.unpacked_bytes:
                raise Refused(f"a packed file unpacks to more than {limits.unpacked_bytes >> 20:,} MB", 413)


# Pictures -------------------------------------------------------------------------------------------------------------


def keep_pictures(uploads: Sequence[Upload], folder: Path, limits: Limits) -> dict[str, Path]:
    """Pictures by their names without endings; archives (.zip) of them are unpacked."""
    found: dict[str, Path] = {}
    if not uploads:
        return found
    require_pillow()
    folder.mkdir()
    for upload in uploads:
        if upload.file.read(4) == b"PK\x03\x04":
            upload.file.seek(0)
            _unpack(upload, found, folder, limits)
        else:
            upload.file.seek(0)
            _keep_picture(upload.name, upload.file, found, folder, limits)
    return found


def refuse_crowd(file: IO[bytes], name: str, most: int) -> None:
    """An archive with very many entries, each of which takes memory before anything can be asked of it."""
    file.seek(0)
    found, tail = 0, b""
    while data := file.read(_CHUNK):
        found += (tail + data).count(_ENTRY)
        tail = data[-len(_ENTRY) + 1 :]
        if found > most:
            raise Refused(f"{name} has more than {most:,} entries", 413)
    file.seek(0)


def _unpack(upload: Upload, found: dict[str, Path], folder: Path, limits: Limits) -> None:
    name = shown_name(upload.name)
    refuse_crowd(upload.file, name, 4 * limits.images)
    try:
        with zipfile.ZipFile(upload.file) as archive:
            members = [each for each in archive.infolist() if not each.is_dir() and not _is_hidden(each.filename)]
            # What the archive says of sizes is held to when it is read.
            if sum(each.file_size for each in members) > limits.unpacked_bytes:
                raise Refused(f"{name} unpacks to more than {limits.unpacked_bytes >> 20:,} MB", 413)
            for each in members:
                with archive.open(each) as file:
                    _keep_picture(each.filename, file, found, folder, limits)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, ValueError, EOFError) as problem:
        raise Refused(f"{name} is not an archive that can be read: {problem}") from None


def _is_hidden(name: str) -> bool:
    return name.startswith("__MACOSX/") or PurePosixPath(name).name.startswith(".")


def _keep_picture(name: str, file: IO[bytes], found: dict[str, Path], folder: Path, limits: Limits) -> None:
    shown = shown_name(name)
    key = PurePosixPath(shown).stem
    if len(found) >= limits.images:
        raise Refused(f"more than {limits.images:,} pictures at once", 413)
    if key in found:
        raise Refused(f"two pictures are called {key!r}")
    data = file.read(limits.image_bytes + 1)
    if len(data) > limits.image_bytes:
        raise Refused(f"{shown} has more than {limits.image_bytes >> 20:,} MB", 413)
    picture_kind(data, shown, limits)
    path = folder / f"{len(found)}.picture"
    path.write_bytes(data)
    found[key] = path


def picture_kind(data: bytes, name: str, limits: Limits) -> str:
    """The media type of a picture, known from its head; nothing is decoded."""
    import io
    import warnings

    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures; the limit is ours
            with Image.open(io.BytesIO(data), formats=list(_PICTURES)) as picture:
                kind, (width, height) = picture.format or "", picture.size
    except Image.DecompressionBombError:
        raise Refused(f"{name} has too many pixels", 413) from None
    except Exception:  # whatever decoders raise, it is no picture to us
        raise Refused(f"{name} is not a JPEG, PNG, GIF or WebP picture, or damaged") from None
    if width * height > limits.image_pixels:
        raise Refused(f"{name} has {width * height:,} pixels; {limits.image_pixels:,} are allowed", 413)
    return _PICTURES[kind]


def told(problem: Exception, folder: Path | None = None) -> str:
    """What is said of a problem: where our own folder stands in it, the file alone."""
    text = str(problem)
    if folder is not None:
        text = text.replace(f"{folder}/", "").replace(str(folder), "the upload")
    return text if not isinstance(problem, DataError) or problem.message else "the data cannot be read"
