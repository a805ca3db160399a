"""What can be looked at besides what clients bring to be scored: samples, and files that capeval has written."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path, PurePath
from typing import IO

from capeval.bench.published import published
from capeval.documents import Document
from capeval.errors import CapevalError
from capeval.io import captions
from capeval.report.blocks import Cell, Section, Table, number
from capeval.report.inputs import CaptionScores, read_result
from capeval.results import load
from capeval.web.jobs import Desk, Job
from capeval.web.orders import Order, Upload, kept, refuse_crowd, shown_name, told
from capeval.web.refusals import Refused, refuse_files

SAMPLES = {"sample": "Sample: four pictures, three kinds of captions", "systems": "Sample: two systems, thirty images"}

_ENTRIES = 10_000
"""Of a saved result: an array is one."""


def sample_order(key: str) -> Order:
    """The captions that come with capeval."""
    folder = files("capeval").joinpath("data", "demo")
    with as_file(folder) as place:
        if key == "sample":
            candidates = captions.read_candidates(place / "pictures_captions.json")
            references = captions.read_references(place / "pictures_references.json")
            images = {path.stem: path for path in sorted((place / "pictures").glob("*.jpg"))}
        else:
            parts = {name: captions.read_candidates(place / f"system_{name.lower()}.json") for name in ("A", "B")}
            candidates = _together(parts)
            references, images = captions.read_references(place / "references.json"), {}
    dataset = captions.join(candidates, references).dataset
    return Order(dataset, None, images=images, name=SAMPLES[key])


def _together(parts: dict[str, captions.Candidates]) -> captions.Candidates:
    def column(name: str) -> list[str]:
        return [value for part in parts.values() for value in getattr(part, name)]

    systems = [name for name, part in parts.items() for _ in part.ids]
    return captions.Candidates("sample", column("ids"), column("images"), column("captions"), systems)


def opened(file: IO[bytes], name: str, desk: Desk) -> Job:
    """Of a saved result (.npz), scores of each caption, or what a command printed as JSON."""
    folder = desk.new_folder()
    job = desk.new_job(None, folder)
    job.name = shown_name(name) or "a result"
    try:
        if name.lower().endswith(".npz"):
            path = folder / "result.npz"
            path.write_bytes(file.read())
            _refuse_bomb(path, desk.limits.unpacked_bytes)
            job.result = load(path)
            for each in job.result.scored:
                refuse_files(each.metric)
            job.rows = len(job.result)
        else:
            found = read_result(kept(Upload(name, file), folder, "result", desk.limits))
            if isinstance(found, CaptionScores):
                job.captions, job.rows = found, len(found)
            else:
                job.document = found
        if job.rows > desk.limits.rows:
            raise Refused(f"{job.rows:,} captions are more than the {desk.limits.rows:,} that are shown", 413)
        job.become("done")
        return job
    except BaseException as problem:
        desk.drop(job)
        if isinstance(problem, CapevalError) and not isinstance(problem, Refused):
            raise Refused(told(problem, folder)) from None
        raise


def _refuse_bomb(path: Path, most: int) -> None:
    """What the archive says of sizes is held to when it is read."""
    with path.open("rb") as file:
        refuse_crowd(file, "it", _ENTRIES)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(each.file_size for each in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError) as problem:
        raise Refused(f"it is not a saved result, or damaged: {problem}") from None
    if size > most:
        raise Refused(f"it unpacks to more than {most >> 20:,} MB", 413)


def captions_of(job: Job) -> CaptionScores:
    """The captions of a job with the scores that are there so far."""
    if job.captions is not None:
        return job.captions
    if job.result is not None:
        result = job.result
        references = dict(zip(result.images, result.references)) if result.references else {}
        return CaptionScores(
            job.name, result.ids, result.images, result.systems, result.candidates, result.per_caption, references
        )
    if job.order is None:
        raise Refused(job.problem or "the job was cancelled", 404)
    data = job.order.dataset
    return CaptionScores(job.name, data.ids, data.images, data.systems, data.candidates, {})


def read_board(path: PurePath) -> Document:
    """A leaderboard, or another result, that whoever runs the server names."""
    found = read_result(path)
    if isinstance(found, CaptionScores):
        raise Refused(f"{path.name} has scores of captions; a leaderboard is what `capeval bench all --json` writes")
    return found


def quoted_section() -> Section:
    """Figures of other people's metrics, as papers give them."""
    rows: Sequence[Sequence[Cell]] = [
        [
            Cell(each.metric),
            Cell(each.benchmark, code=True),
            Cell(each.statistic),
            number(each.value),
            Cell(each.source),
        ]
        for each in published()
    ]
    header = ["metric", "benchmark", "statistic", "figure", "source"]
    return Section("Quoted from papers", [Table("Figures that papers report; not measured here", header, rows)])
