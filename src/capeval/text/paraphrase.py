"""METEOR's paraphrase table as a memory-mapped index.

The table comes out of the PyPI package `pycocoevalcap`: gzip text with three lines for each pair, a probability (which
METEOR does not use), a phrase and its paraphrase. Reading it takes many seconds, so an index of it is built once and
kept in the cache directory under the table's sha256.

The index is a tree of all phrases. Node w is the phrase of word w alone; the children of a node are one word longer,
stand side by side and are sorted by their last word. Each node has the paraphrases of its phrase, as nodes, in the
order of the table.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.machinery
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError, MissingExtra
from capeval.io.assets import places
from capeval.io.cache import built_once, remembered, sha256_of
from capeval.run import Run
from capeval.types import Ints

ASSET, KEPT = "meteor-table", "english.paraphrases"
TABLE = "paraphrase-en.gz"
"""Its name in the package. In the cache it is not called .gz: what is written under such a name is packed."""
MAGIC = b"capeval phrases1"
HEADER = np.dtype([("magic", "S16"), ("words", "<i8"), ("width", "<i8"), ("nodes", "<i8"), ("pairs", "<i8")])
DIGEST_SIZE = 32
CHUNK = 1 << 24
MAX_PHRASE = 64
MAX_WORD = 256


class Phrases(NamedTuple):
    words: npt.NDArray[np.bytes_]
    """UTF-8, sorted."""
    child_start: Ints
    """The children of node n are the nodes from `child_start[n]` to `child_start[n + 1]`."""
    last_word: Ints
    """The last word of each node's phrase."""
    pair_start: Ints
    """The paraphrases of node n are `paraphrases[pair_start[n]:pair_start[n + 1]]`."""
    paraphrases: Ints

    def numbers_of(self, words: list[str]) -> Ints:
        """The number of each word, -1 where no phrase has it."""
        if not len(self.words) or not words:
            return np.full(len(words), -1, np.int32)
        wanted = np.array([word.encode(errors="surrogatepass") for word in words])
        places = np.minimum(np.searchsorted(self.words, wanted), len(self.words) - 1)
        return np.where(self.words[places] == wanted, places, -1).astype(np.int32)


def find_table() -> Path:
    """The paraphrase table: one that was fetched, else that of the installed package, which is not imported."""
    for place in places():
        if (place / ASSET / KEPT).is_file():
            return place / ASSET / KEPT
    # Not `importlib.util.find_spec`: that sees what `capeval.compat.install` puts in the package's place.
    spec = importlib.machinery.PathFinder.find_spec("pycocoevalcap")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "meteor" / "data" / TABLE
        if path.is_file():
            return path
    raise MissingExtra("METEOR's paraphrase table", "meteor", f"`capeval data fetch {ASSET}`")


def table_digest(table: Path, run: Run) -> str:
    return remembered(table, "sha256", sha256_of, run.cache)


def load_phrases(table: Path, run: Run | None = None) -> Phrases:
    """The index of a table, built if the cache directory does not have it."""
    run = run or Run()
    path = run.cache / "meteor" / f"{table_digest(table, run)[:32]}.phrases"
    if path not in _OPEN:
        built_once(path, lambda p: _is_good(p, run), lambda stream: write_index(build_index(table, run), stream))
        _OPEN[path] = _open_index(path)
    return _OPEN[path]


_OPEN: dict[Path, Phrases] = {}
"""Indexes that were opened in this process: memory maps, which cost nothing to keep."""


def write_index(phrases: Phrases, stream: IO[bytes]) -> None:
    words, *numbers = phrases
    header = np.zeros(1, HEADER)
    header["magic"] = MAGIC
    header["words"], header["width"] = len(words), words.itemsize
    header["nodes"], header["pairs"] = len(phrases.last_word), len(phrases.paraphrases)
    digest = hashlib.sha256()
    padding = bytes(-words.nbytes % 8)
    for part in (header.tobytes(), words.tobytes(), padding, *(values.astype("<i4").tobytes() for values in numbers)):
        digest.update(part)
        stream.write(part)
    stream.write(digest.digest())


def _open_index(path: Path) -> Phrases:
    header = _read_header(path)
    if header is None:
        raise DataError("this index of paraphrases is damaged; remove it", file=str(path))
    words, width, nodes, pairs = header
    place = HEADER.itemsize + words * width + -words * width % 8
    spelling: Any = np.memmap(path, f"S{width}", "r", HEADER.itemsize, (words,))
    columns = []
    for size in (nodes + 1, nodes, nodes + 1, pairs):
        columns.append(np.memmap(path, "<i4", "r", place, (size,)) if size else np.zeros(0, np.int32))
        place += 4 * size
    # Plain arrays: reading a slice of a memmap costs more, and the mapping lives as long as they do.
    return Phrases(np.asarray(spelling), *(np.asarray(column) for column in columns))


def _read_header(path: Path) -> tuple[int, int, int, int] | None:
    """The sizes of the tables, if the file can be an index of just that size."""
    try:
        with path.open("rb") as stream:
            data = stream.read(HEADER.itemsize)
        size = path.stat().st_size
    except OSError:
        return None
    if len(data) < HEADER.itemsize:
        return None
    magic, words, width, nodes, pairs = np.frombuffer(data, HEADER)[0].tolist()
    limit = 1 << 31
    if magic != MAGIC or not (0 < words <= nodes < limit and 0 < width <= MAX_WORD and 0 <= pairs < limit):
        return None
    numbers = 4 * ((nodes + 1) + nodes + (nodes + 1) + pairs)
    expected = HEADER.itemsize + words * width + -words * width % 8 + numbers + DIGEST_SIZE
    return (words, width, nodes, pairs) if size == expected else None


def _is_good(path: Path, run: Run) -> bool:
    if _read_header(path) is None:
        return False
    return remembered(path, "intact", lambda p: "yes" if _has_right_digest(p) else "no", run.cache) == "yes"


def _has_right_digest(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-DIGEST_SIZE, 2)
        return sha256_of(path, without_last=DIGEST_SIZE) == stream.read().hex()


def build_index(table: Path, run: Run) -> Phrases:
    """Reads the table and makes the tree."""
    number: defaultdict[bytes, int] = defaultdict(count().__next__)
    sources, targets = array("i"), array("i")
    with run.progress.bar("Building METEOR's paraphrase index (once)", table.stat().st_size) as advance:
        for left, right in _pairs(table, advance):
            sources.extend(map(number.__getitem__, left))
            targets.extend(map(number.__getitem__, right))
    words, rows = _word_rows(list(number), table)
    del number
    node, child_start, last_word = _tree(rows, len(words))
    source_nodes, target_nodes = node[np.frombuffer(sources, np.int32)], node[np.frombuffer(targets, np.int32)]
    order = np.argsort(source_nodes, kind="stable")
    return Phrases(words, child_start, last_word, _starts(source_nodes, len(last_word)), target_nodes[order])


def _pairs(table: Path, advance: Callable[[int], None]) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Phrases and their paraphrases, a few hundred thousand at a time."""
    tail, lines = b"", list[bytes]()
    try:
        with table.open("rb") as raw, gzip.GzipFile(fileobj=raw) as stream:
            while block := stream.read(CHUNK):
                *complete, tail = (tail + block).split(b"\n")
                lines += complete
                whole = len(lines) // 3 * 3
                yield lines[1:whole:3], lines[2:whole:3]
                del lines[:whole]
                advance(raw.tell())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"cannot be unpacked: {error}. Fetch it again, or reinstall pycocoevalcap", file=str(table)
        ) from error
    if lines or tail:
        raise DataError("ends within a pair of phrases. Fetch it again, or reinstall pycocoevalcap", file=str(table))


def _word_rows(phrases: list[bytes], table: Path) -> tuple[npt.NDArray[np.bytes_], Ints]:
    """The sorted words, and the words of each phrase as numbers, padded with -1."""
    number: defaultdict[bytes, int] = defaultdict(count().__next__)
    lengths, flat = array("i"), array("i")
    for phrase in phrases:
        words = phrase.split()
        lengths.append(len(words))
        flat.extend(map(number.__getitem__, words))
    sizes = np.frombuffer(lengths, np.int32) if lengths else np.zeros(1, np.int32)
    longest = max(map(len, number), default=MAX_WORD + 1)
    if sizes.min() < 1 or sizes.max() > MAX_PHRASE or longest > MAX_WORD:
        raise DataError("is not a table of paraphrases. Fetch it again, or reinstall pycocoevalcap", file=str(table))
    spelling = np.array(list(number))
    order = np.argsort(spelling, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rows = np.full((len(sizes), sizes.max()), -1, np.int32)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = rank[np.frombuffer(flat, np.int32)]
    return spelling[order], rows


def _tree(rows: Ints, words: int) -> tuple[Ints, Ints, Ints]:
    """The node of each phrase; where each node's children begin; each node's last word."""
    node = rows[:, 0].copy()
    parents, last_words = [], [np.arange(words, dtype=np.int64)]
    nodes = words
    for column in rows.T[1:]:
        longer = np.flatnonzero(column >= 0)
        keys, inverse = np.unique(node[longer].astype(np.int64) * words + column[longer], return_inverse=True)
        node[longer] = nodes + inverse.reshape(-1)
        parents.append(keys // words)
        last_words.append(keys % words)
        nodes += len(keys)
    all_parents = np.concatenate([np.zeros(0, np.int64), *parents])
    # The children of the words come first, in the order of the words, then theirs: a parent's children are one run.
    child_start = _starts(all_parents, nodes) + np.int32(words)
    return node, child_start, np.concatenate(last_words).astype(np.int32)


def _starts(owners: npt.NDArray[np.integer[Any]], size: int) -> Ints:
    """Where the entries of each owner begin once they are sorted by owner."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=size))]).astype(np.int32)
