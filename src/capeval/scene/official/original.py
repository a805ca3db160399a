"""The grammar as the official tool writes it, in either of its forms, turned into the arrays of the compact file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.scene.official.javastream import JavaObject, StreamError, read_stream
from capeval.types import Bytes


class _Lexical(NamedTuple):
    """One count of the lexicon; -1 stands for any tag, or any word."""

    tag: int
    word: int
    times: float


def read_java_grammar(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the compact file, from the serialised parser."""
    parser = read_stream(data)
    try:
        lexicon = parser.fields["lex"]
        binary = [rule.fields for rule in parser.fields["bg"].fields["allRules"].elements()]
        unary = [rule.fields for rule, _ in parser.fields["ug"].fields["coreRules"].pairs()]
        return _arrays(
            states=_index(parser.fields["stateIndex"]),
            tags=_index(parser.fields["tagIndex"]),
            words=_index(parser.fields["wordIndex"]),
            binary=[(rule["parent"], rule["leftChild"], rule["rightChild"], rule["score"]) for rule in binary],
            unary=[(rule["parent"], rule["child"], rule["score"]) for rule in unary],
            seen=_counter(lexicon.fields["seenCounter"]),
            unseen=_counter(lexicon.fields["uwModel"].fields["unSeenCounter"]),
            smoothing=float(lexicon.fields["smooth"][1]),
            smoothed_below=float(lexicon.fields["smoothInUnknownsThreshold"]),
        )
    except (KeyError, AttributeError, TypeError, IndexError) as error:
        raise StreamError(f"this is not a serialised grammar ({type(error).__name__}: {error})") from None


def _index(index: JavaObject) -> list[str]:
    return [str(entry) for entry in index.fields["objects"].elements()]


def _counter(counter: JavaObject) -> list[_Lexical]:
    pairs = counter.fields["map"].pairs()
    return [_Lexical(key.fields["tag"], key.fields["word"], value.fields["d"]) for key, value in pairs]


def read_text_grammar(text: str) -> dict[str, npt.NDArray[Any]]:
    """The same from the text form of a grammar, as the official tool writes it."""
    sections: dict[str, list[str]] = {}
    for line in text.replace('\\"', '"').split("\n"):
        if line.startswith("BEGIN "):
            lines = sections.setdefault(line.split()[1], [])
        elif line:
            lines.append(line)
    names = {key: [line.partition("=")[2] for line in sections[f"{key}_INDEX"]] for key in ("STATE", "WORD", "TAG")}
    numbers = {key: {name: number for number, name in enumerate(names[key])} for key in names}
    any_word = {".*.": -1}
    tags, words, states = numbers["TAG"] | any_word, numbers["WORD"] | any_word, numbers["STATE"]
    counts: dict[str, list[_Lexical]] = {"SEEN": [], "UNSEEN": []}
    for line in sections["LEXICON"]:
        if found := re.fullmatch(r'"(.*)" -> "(.*)" (SEEN|UNSEEN) (\S+)', line):
            tag, word, kind, count = found.groups()
            counts[kind].append(_Lexical(tags[tag], words[word], float(count)))
    options = dict(line.split(" ", 1) for line in sections["OPTIONS"])
    smooth = [line.partition("=")[2] for line in sections["LEXICON"] if line.startswith("smooth[1]")]
    rules = [re.fullmatch(r'"(.*)" -> "(.*)" "(.*)" (\S+)', line) for line in sections["BINARY_GRAMMAR"]]
    chains = [re.fullmatch(r'"(.*)" -> "(.*)" (\S+)', line) for line in sections["UNARY_GRAMMAR"]]
    return _arrays(
        states=names["STATE"],
        tags=names["TAG"],
        words=names["WORD"],
        binary=[(states[r[1]], states[r[2]], states[r[3]], float(r[4])) for r in rules if r],
        unary=[(states[r[1]], states[r[2]], float(r[3])) for r in chains if r],
        seen=counts["SEEN"],
        unseen=counts["UNSEEN"],
        smoothing=float(smooth[0]),
        smoothed_below=float(options["smoothInUnknownsThreshold"]),
    )


def _arrays(
    *,
    states: list[str],
    tags: list[str],
    words: list[str],
    binary: list[tuple[int, int, int, float]],
    unary: list[tuple[int, int, float]],
    seen: list[_Lexical],
    unseen: list[_Lexical],
    smoothing: float,
    smoothed_below: float,
) -> dict[str, npt.NDArray[Any]]:
    numbers = {state: number for number, state in enumerate(states)}
    arrays: dict[str, npt.NDArray[Any]] = {
        "states": to_bytes(states),
        "words": to_bytes(words),
        "tag_states": np.array([numbers[tag] for tag in tags], dtype=np.int32),
        "binary": np.array([rule[:3] for rule in binary], dtype=np.int32).reshape(-1, 3),
        "binary_scores": np.array([rule[3] for rule in binary], dtype=np.float32),
        "unary": np.array([rule[:2] for rule in unary], dtype=np.int32).reshape(-1, 2),
        "unary_scores": np.array([rule[2] for rule in unary], dtype=np.float32),
        "smoothing": np.array([smoothing, smoothed_below]),
    }
    for name, entries in (("seen", seen), ("unseen", unseen)):
        arrays |= {f"{name}_{key}": value for key, value in _count_arrays(entries, len(tags), len(words)).items()}
    return arrays


def _count_arrays(entries: Iterable[_Lexical], tags: int, words: int) -> dict[str, npt.NDArray[Any]]:
    """Pairs sorted by word, then totals; the total of everything stands last among the tags' totals."""
    pairs, word_totals, tag_totals = [], np.zeros(words), np.zeros(tags + 1)
    for entry in entries:
        if entry.word >= 0 and entry.tag >= 0:
            pairs.append(entry)
        elif entry.word >= 0:
            word_totals[entry.word] = entry.times
        else:
            tag_totals[entry.tag] = entry.times
    pairs.sort(key=lambda entry: (entry.word, entry.tag))
    lengths = np.bincount([entry.word for entry in pairs], minlength=words) if pairs else np.zeros(words, np.int64)
    return {
        "tags": np.array([entry.tag for entry in pairs], dtype=np.int32),
        "counts": np.array([entry.times for entry in pairs], dtype=np.float64),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "word_totals": word_totals,
        "tag_totals": tag_totals,
    }


def to_bytes(texts: list[str]) -> Bytes:
    """Texts as an array; no text has a line break."""
    return np.frombuffer("\n".join(texts).encode("utf-8", "surrogatepass"), dtype=np.uint8)
