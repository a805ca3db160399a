"""Distractors (Hodosh and Hockenmaier 2016): a correct caption against a distracted one, in six tasks.

`built` makes the pairs from the captions of the Flickr8k test images with our own parser, which needs nothing,
`built-official` with SPICE's parser; most pairs are the same. `published` reads pairs from one file for each task,
`distractors/TASK.tsv` or `distractors/TASK.jsonl`. The layout inside the archive that the authors published is not
known to us; its pairs are to be brought into this form:

    TASK        replace_person, replace_scene, share_person, share_scene, just_person or just_scene
    TSV         image, correct caption, distracted caption, in each line, without a header
    JSONL       an object with `image`, `correct` and `distracted` in each line

The references of a pair are the other correct captions of its image in all files, and those in
`distractors/references.json` (an object from image to captions) where that file is there.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from capeval.bench import papers
from capeval.bench.benchmark import Benchmark, Source, picture_in
from capeval.bench.files import read_json
from capeval.bench.loaders import flickr8k
from capeval.bench.pairs import Pairs
from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom
from capeval.perturb.choices import TASKS, Choice
from capeval.run import Run

_FOLDER = "distractors"
_BUILT = ("built", "built-official")
_TEST_IMAGES = Source(
    "flickr8k/Flickr_8k.testImages.txt", "6461ca86cf5d4c810cbbc3a7dd5a4ef0900b7306aba17dfa9b96e93f3afc452d", _BUILT
)  # fmt: skip


def _load(root: Path, variant: str, run: Run) -> Pairs:
    if variant == "published":
        return _published(root / _FOLDER)
    return _built(root, "official" if variant == "built-official" else "fast", replace(run, tokenizer="ptb"))


def _built(root: Path, parser: str, run: Run) -> Pairs:
    # Loaded here: the list of benchmarks needs no parser.
    from capeval.perturb.distractors import distracted

    path = root / _TEST_IMAGES.path
    images = utf8_without_bom(read_bytes(path), str(path)).decode().split()
    captions: dict[str, list[str]] = {image: [] for image in images}
    for name, text in flickr8k.rows_of(root / flickr8k.CAPTIONS.path, 2):
        if (image := name.split("#")[0]) in captions:
            captions[image].append(text)
    missing = [image for image, texts in captions.items() if not texts]
    if missing:
        raise DataError("images that the caption file does not have.", file=str(path), ids=missing)
    references = {image: tuple(texts) for image, texts in captions.items()}
    return Pairs.of_choices(distracted(references, parser=parser, run=run))


def _published(folder: Path) -> Pairs:
    rows = [row for task in TASKS for row in _rows(folder, task)]
    if not rows:
        names = ", ".join(f"{task}.tsv" for task in TASKS)
        raise DataError(
            f"there are no pairs: {names} (or .jsonl) are needed; docs/tasks/robustness.md", file=str(folder)
        )
    known: dict[str, dict[str, None]] = {}
    if (path := folder / "references.json").is_file():
        given = read_json(path, dict)
        if any(not isinstance(each, list) or not all(isinstance(t, str) for t in each) for each in given.values()):
            raise DataError("an object from image to a list of captions is needed", file=str(path))
        known = {image: dict.fromkeys(texts) for image, texts in given.items()}
    for row in rows:
        known.setdefault(row.image, {})[row.right] = None
    rows = [row._replace(references=tuple(text for text in known[row.image] if text != row.right)) for row in rows]
    alone = [row.image for row in rows if not row.references]
    if alone:
        message = (
            "images with one correct caption only, so nothing is left to compare with; references.json can add some."
        )
        raise DataError(message, file=str(folder), ids=list(dict.fromkeys(alone)))
    return Pairs.of_choices(rows)


def _rows(folder: Path, task: str) -> list[Choice]:
    """The pairs of a task, without their references."""
    if (path := folder / f"{task}.tsv").is_file():
        cells = flickr8k.rows_of(path, 3)
    elif (path := folder / f"{task}.jsonl").is_file():
        cells = _json_rows(path)
    else:
        return []
    return [
        Choice(f"{task}-{number}", image, right, wrong, (), task)
        for number, (image, right, wrong) in enumerate(cells, 1)
    ]


def _json_rows(path: Path) -> list[list[str]]:
    rows = []
    for number, line in enumerate(utf8_without_bom(read_bytes(path), str(path)).decode().split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            cells = [row["image"], row["correct"], row["distracted"]]
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            message = f"an object with `image`, `correct` and `distracted` is needed: {problem!r}"
            raise DataError(message, file=str(path), line=number) from None
        rows.append([str(cell) for cell in cells])
    return rows


DISTRACTORS = Benchmark(
    name="distractors",
    summary="A correct caption against one with another person or scene, of another image, or cut: six tasks",
    citation=(
        "Hodosh, Hockenmaier 2016: Focused Evaluation for Image Description with Binary Forced-Choice Tasks. "
        "Workshop on Vision and Language"
    ),
    licence=flickr8k.LICENCE,
    published=flickr8k.PUBLISHED,
    sources=(Source(flickr8k.CAPTIONS.path, flickr8k.CAPTIONS.sha256, _BUILT), _TEST_IMAGES),
    holds=("images:flickr8k-test",),
    load=_load,
    variants=("built", "built-official", "published"),
    default_variants=("built",),
    variant_key="pairs",
    papers={"published": (papers.NNEVAL,)},
    pictures=picture_in("flickr8k"),
)
