"""Everything capeval raises on purpose. Each message says what is wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

# What helps, in the words of Python. The command line says the same with its own options, by the same keys.
REMEDIES = {
    "references": "Give them as `references`",
    "columns": "Name the columns in a `Reading`: `id`, `caption`, `references`",
    "id_column": "Name the one to use as `Reading.id`",
    "caption_column": "Name the one to use as `Reading.caption`",
    "reference_columns": "Name those to use as `Reading.references`",
    "split": "Name others as `Reading.split`",
    "several": "With `Reading(several=True)` each is a caption of its own",
    "row_references": "Name their column in `columns`, or give them by image as `references`",
    "pictures": "Give a folder of pictures as `images`, or their `features`",
    "picture": "Give it as `picture`",
    "own_features": "Give them as `features`",
    "skip_pictures": 'With `on_error="skip"` such pictures are left out',
    "skip_rows": 'With `on_error="skip"` such rows are written without scores',
    "saved_result": "`capeval.save` writes results",
    "score_ids": "The ids are those of the captions that are scored",
    "scores_alone": "Files with scores alone are given as `scores`",
    "caption_scores": "For a benchmark, give them to `capeval.bench.run`",
    "result": "`to_dict` of a result gives it",
    "human": "Name it as `human`",
    "combine": "Set `Settings.combine` to the size of the largest",
    "seen": "With `allow_seen=True` it is shown, and marked",
    "unfinished_training": "`capeval train` can go on with it",
    "training_features": "Name their features in `Inputs.features`; `capeval features` makes them",
    "training_data": "Name the folder that has it in `Inputs.data`",
    "training_there": "Go on with `resume=True`, or name another folder",
    "training_corpus": "Name its files in `Inputs.corpus`",
    "training_inputs": "Such files are named in `Inputs.extra`",
}


class CapevalError(Exception):
    """Base of all errors that are meant for the user; the command line prints them without a traceback."""

    def __init__(self, message: str = "", *, remedy: str = "") -> None:
        self.message, self.remedy = message, remedy
        super().__init__(with_advice(message, REMEDIES[remedy]) if remedy else message)


class DataError(CapevalError):
    """The input is at fault. Carries the file, the line and the first ids where they are known."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        ids: Sequence[str] = (),
        remedy: str = "",
    ) -> None:
        self.file, self.line, self.ids = file, line, tuple(ids)
        where = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(where + message + _first_ids(self.ids), remedy=remedy)


class UnknownName(CapevalError):
    """A metric, parameter or other name that does not exist, with the nearest ones that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        options = sorted(known)
        # Whatever the case it was written in, and whatever that of the options.
        by_lower = {option.lower(): option for option in options}
        near = [by_lower[each] for each in get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.5)]
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(options)}."
        super().__init__(f"unknown {kind} {name!r}. {hint}")


class CheckpointError(CapevalError):
    """A trained model that cannot be used: incomplete, damaged, of another kind, or giving other scores than it did."""


class ExpressionError(CapevalError):
    """A metric expression such as `cider_d(df=corpus)` that cannot be read or has a wrong value."""


class Unavailable(CapevalError):
    """Something is not there: a package, a file, references or pictures.

    Where no metric is asked for by name, those that raise this are left out with a note.
    """


class MissingExtra(Unavailable):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, extra: str, other_way: str = "") -> None:
        other = f", or get it with {other_way}" if other_way else ""
        super().__init__(f"{feature} needs an optional package. Install it with: {install_command(extra)}{other}")


_WITH_WEIGHTS = ("learned", "train", "all")


def install_command(extra: str) -> str:
    """What installs an extra here: from the checkout where there is one, else from the package index."""
    root = Path(__file__).resolve().parents[2]
    if not ((root / "pyproject.toml").is_file() and (root / "src" / "capeval").is_dir()):
        return f'pip install "capeval[{extra}]"'
    place = "." if Path.cwd() == root else str(root)
    # Our weights are packages of the checkout: none of another place may stand in for them.
    weights = sorted(path.parent.name for path in root.glob("packages/*/pyproject.toml"))
    before = [f"'{place}/packages/{name}'" for name in weights] if extra in _WITH_WEIGHTS else []
    return " ".join(["pip install", *before, f"'{place}[{extra}]'"])


def without_pickle_advice(problem: Exception) -> str:
    """What NumPy says of a file it cannot read, but for its advice to load what may run code."""
    text = str(problem)
    return "it holds Python objects, which are never read" if "pickle" in text else text


class MissingPictures(DataError, Unavailable):
    """Images without the picture that a metric looks at."""


class TooFewImages(DataError, Unavailable):
    """A metric that weighs words by how many images have them, and too few images to do so."""


class UnsuitableFeatures(DataError, Unavailable):
    """Features of pictures that a learned metric does not know: of another encoder, or without regions."""


def with_advice(message: str, advice: str) -> str:
    """The message, and what to do about it as a sentence of its own."""
    return f"{message}{'' if message.endswith(('.', '?', '!')) else '.'} {advice}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 image`, `2 images`; where the noun is not the last word, with its plural."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def _first_ids(ids: Sequence[str], limit: int = 5) -> str:
    if not ids:
        return ""
    shown = ", ".join(repr(i) for i in ids[:limit])
    rest = len(ids) - limit
    return f" Ids: {shown}" + (f" and {rest} more" if rest > 0 else "")
