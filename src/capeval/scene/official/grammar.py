"""The grammar of the official SPICE parser: from its original file into a compact one in the user's cache.

The original is `englishPCFG.ser.gz` of Stanford CoreNLP 3.6.0 (GPL), a Java-serialised object. It is not part of
capeval: the user imports or fetches it once. The compact file holds arrays only, under a header with a checksum.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError, Unavailable
from capeval.io.assets import find_asset, known_asset, place_in_cache
from capeval.io.files import PathLike, writing
from capeval.run import Run, cache_dir
from capeval.scene.official.javastream import StreamError
from capeval.scene.official.lexicon import TagCounts, TagLexicon
from capeval.scene.official.original import read_java_grammar, to_bytes
from capeval.types import Floats, Ints

MEMBER = "edu/stanford/nlp/models/lexparser/englishPCFG.ser.gz"
ASSET = "spice-grammar"
HOW_TO_GET = (
    "Get it once with `capeval data import spice-grammar [FILE]` (from a CoreNLP 3.6.0 models jar or "
    "englishPCFG.ser.gz) or `capeval data fetch spice-grammar`"
)
ROOT, END_TAG = "ROOT", ".$$."

_HEADER = b"capeval-grammar 1 "
_MAX_PACKED, _MAX_UNPACKED = 1 << 25, 1 << 28
_FILE = "english.grammar"
_MODELS_JAR = "stanford-corenlp-3.6.0-models.jar"
_LABEL = re.compile(r"-[LR][RCS]B-|.[^\^\-~_=|#]*", re.DOTALL)


class MissingGrammar(Unavailable):
    """The grammar has not been imported yet."""


@dataclass(frozen=True, eq=False)
class Grammar:
    """Rules as arrays of state numbers, in the order of the original file."""

    states: list[str]
    binary: Ints
    """[rules, 3]: parent, left child, right child."""
    binary_scores: Floats
    unary: Ints
    """[rules, 2]: parent, child."""
    unary_scores: Floats
    tag_states: Ints
    """The state of each tag of the lexicon."""
    lexicon: TagLexicon
    digest: str
    """The sha256 of the file it was imported from: part of what decides a score."""

    @property
    def root(self) -> int:
        return self.states.index(ROOT)

    @property
    def end(self) -> int:
        return self.states.index(END_TAG)

    def labels(self) -> list[str]:
        """What a tree shows for each state; empty: the state is left out and its children move up."""
        return [label_of(state) for state in self.states]


def label_of(state: str) -> str:
    """`NP^S-B` is shown as `NP`; states that begin with `@` only stand for parts of rules."""
    if state.startswith("@"):
        return ""
    if state.startswith("NP-TMP"):  # times are the one function that the official trees keep
        return "NP-TMP"
    found = _LABEL.match(state)
    return found[0] if found else ""


def grammar_path(cache: Path | None = None) -> Path:
    """Where the grammar is, or where it is put when it is imported: in the cache."""
    run = Run(cache=cache or cache_dir())
    try:
        return find_asset(ASSET, run) / _FILE
    except Unavailable:
        return place_in_cache(ASSET, run) / _FILE


def load_grammar(path: PathLike | None = None) -> Grammar:
    """The grammar that was imported."""
    place = Path(path) if path is not None else grammar_path()
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        raise MissingGrammar(
            f"SPICE needs the grammar of its official parser, which is not here yet. {HOW_TO_GET}"
        ) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(place)) from error
    try:
        return _unpack(data)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"the grammar is damaged ({error}). {HOW_TO_GET}", file=str(place)) from None


def import_grammar(source: PathLike | None = None, *, allow_other: bool = False) -> Path:
    """Turns the original file, or the one in a models jar, into the compact one; returns where that is.

    Without a source it is looked for where other tools keep it. A file other than that of CoreNLP 3.6.0 is refused,
    since it gives other scores, unless `allow_other`.
    """
    place = Path(source) if source is not None else find_grammar_source()
    if place is None:
        looked = ", ".join(str(candidate) for candidate in _candidates())
        raise MissingGrammar(f"no models jar of CoreNLP 3.6.0 was found (looked for {looked}). {HOW_TO_GET}")
    return store_grammar(_original(place), str(place), allow_other=allow_other)


def store_grammar(original: bytes, source: str, run: Run | None = None, *, allow_other: bool = False) -> Path:
    """Puts a grammar, given as the bytes of the original .ser.gz file, into the cache."""
    digest, expected = hashlib.sha256(original).hexdigest(), known_asset(ASSET).files[0].sha256
    if digest != expected and not allow_other:
        raise DataError(
            f"this is not the grammar of CoreNLP 3.6.0 (sha256 {digest[:16]}..., expected {expected[:16]}...): it is "
            "damaged, or of another version, which would give other scores",
            file=source,
        )
    try:
        arrays = read_java_grammar(_gunzip(original))
    except (StreamError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"the grammar cannot be read: {error}", file=source) from None
    return save_grammar(arrays, digest, place_in_cache(ASSET, run) / _FILE)


def save_grammar(arrays: Mapping[str, npt.NDArray[Any]], digest: str, place: Path) -> Path:
    """Writes the compact file."""
    stream = io.BytesIO()
    np.savez(stream, digest=to_bytes([digest]), **arrays)  # type: ignore[arg-type]
    body = stream.getvalue()
    _unpack(_with_header(body))  # what cannot be read back is not written
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror}. Set CAPEVAL_CACHE", file=str(place.parent)) from error
    with writing(place) as file:
        file.write(_with_header(body))
    return place


def find_grammar_source() -> Path | None:
    """A models jar of CoreNLP 3.6.0 (or the original file beside it) that another tool has left on this machine."""
    return next((place for place in _candidates() if place.is_file()), None)


def _candidates() -> Iterator[Path]:
    package = importlib.util.find_spec("pycocoevalcap")
    for folder in (package.submodule_search_locations or ()) if package else ():
        yield Path(folder) / "spice" / "lib" / _MODELS_JAR
    maven = Path.home() / ".m2" / "repository"
    yield maven / "edu" / "stanford" / "nlp" / "stanford-corenlp" / "3.6.0" / _MODELS_JAR
    if home := os.environ.get("CORENLP_HOME"):
        yield Path(home) / _MODELS_JAR
        yield Path(home) / MEMBER
        yield Path(home) / Path(MEMBER).name


# --- the original file ---


def _original(place: Path) -> bytes:
    """The bytes of the .ser.gz file, which may lie in a jar."""
    try:
        if not zipfile.is_zipfile(place):
            if place.stat().st_size > _MAX_PACKED:
                raise DataError("too large for a grammar, and not a jar", file=str(place))
            return place.read_bytes()
        with zipfile.ZipFile(place) as jar:
            entry = jar.getinfo(MEMBER)
            if entry.file_size > _MAX_PACKED:
                raise DataError(f"{MEMBER} is too large for a grammar", file=str(place))
            return jar.read(entry)
    except KeyError:
        raise DataError(
            f"this jar has no {MEMBER}; the models jar of CoreNLP 3.6.0 is needed", file=str(place)
        ) from None
    except FileNotFoundError:
        raise DataError("there is no such file", file=str(place)) from None
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"cannot be read: {error}", file=str(place)) from error


def _gunzip(packed: bytes) -> bytes:
    with gzip.open(io.BytesIO(packed)) as stream:
        data = stream.read(_MAX_UNPACKED + 1)
    if len(data) > _MAX_UNPACKED:
        raise StreamError("more data than a grammar can have")
    return data


# --- the compact file ---


def _to_texts(array: npt.NDArray[Any]) -> list[str]:
    return array.tobytes().decode("utf-8", "surrogatepass").split("\n")


def _with_header(body: bytes) -> bytes:
    return _HEADER + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _unpack(data: bytes) -> Grammar:
    start = len(_HEADER) + 65
    if data[: len(_HEADER)] != _HEADER:
        raise ValueError("it has another form or was written by another version of capeval")
    body = memoryview(data)[start:]
    if data[len(_HEADER) : start] != hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise ValueError("its checksum is wrong")
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        return _from_arrays({name: arrays[name] for name in arrays.files})


def _from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> Grammar:
    states, words = _to_texts(arrays["states"]), _to_texts(arrays["words"])
    tag_states = arrays["tag_states"]
    numbers = {word: number for number, word in enumerate(words)}
    smoothing, smoothed_below = arrays["smoothing"].tolist()
    seen, unseen = (_counts(arrays, name, numbers, len(tag_states)) for name in ("seen", "unseen"))
    grammar = Grammar(
        states=states,
        binary=arrays["binary"],
        binary_scores=arrays["binary_scores"],
        unary=arrays["unary"],
        unary_scores=arrays["unary_scores"],
        tag_states=tag_states,
        lexicon=TagLexicon(seen, unseen, smoothing, smoothed_below),
        digest=_to_texts(arrays["digest"])[0],
    )
    _check(grammar)
    return grammar


def _counts(arrays: Mapping[str, npt.NDArray[Any]], name: str, words: dict[str, int], tags: int) -> TagCounts:
    part = {key: arrays[f"{name}_{key}"] for key in ("offsets", "tags", "counts", "word_totals", "tag_totals")}
    sizes_fit = len(part["offsets"]) == len(words) + 1 == len(part["word_totals"]) + 1
    sizes_fit &= len(part["tags"]) == len(part["counts"]) == part["offsets"][-1] and len(part["tag_totals"]) == tags + 1
    if not sizes_fit or np.any(np.diff(part["offsets"]) < 0) or not _within(part["tags"], tags):
        raise ValueError(f"the {name} words do not fit together")
    totals = part["tag_totals"]
    return TagCounts(
        words, part["offsets"], part["tags"], part["counts"], part["word_totals"], totals[:-1], float(totals[-1])
    )


def _within(numbers: npt.NDArray[Any], size: int) -> bool:
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < size)


def _check(grammar: Grammar) -> None:
    size = len(grammar.states)
    if not {ROOT, END_TAG} <= set(grammar.states):
        raise ValueError(f"the grammar has no {ROOT} or no {END_TAG}")
    if not all(_within(numbers.ravel(), size) for numbers in (grammar.binary, grammar.unary, grammar.tag_states)):
        raise ValueError("a rule names a state that does not exist")
    if len(grammar.binary) != len(grammar.binary_scores) or len(grammar.unary) != len(grammar.unary_scores):
        raise ValueError("rules and scores differ in number")
    if not (np.isfinite(grammar.binary_scores).all() and np.isfinite(grammar.unary_scores).all()):
        raise ValueError("a score is not a number")
