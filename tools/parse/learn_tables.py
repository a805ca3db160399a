"""Counts the tables of `capeval.scene` from parsed captions and writes them to src/capeval/data/parse.

    python tools/parse/learn_tables.py PARSES.tsv.xz [--out DIR] [--lines FROM:TO]

PARSES has a sentence a line, tab-separated: tokens, tags, lemmas, heads, relations, enhanced edges, tree.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from capeval.scene.lemma import ending_keys
from capeval.scene.official import dependencies
from capeval.scene.official.kinds import phrase_kind, token_kind, visible
from capeval.scene.official.tree import Tree, read_tree

# What the regular suffixes cut, with the second of two letters before them.
_REGULAR = re.compile("s|es|ies|d|ed|ied|ing|[bdfgklmnprstvz](ing|ed|es)")


class Sentence(NamedTuple):
    tokens: list[str]
    tags: list[str]
    lemmas: list[str]
    heads: list[int]
    relations: list[str]
    tree: Tree


def sentences(path: Path, lines: slice) -> Iterator[Sentence]:
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in islice(file, lines.start, lines.stop):
            tokens, tags, lemmas, heads, relations, _, tree = line.rstrip("\n").split("\t")
            # Place 0 stands for the root, so that indices are those of the tree.
            numbers = [-1] + [-1 if h == "_" else int(h) for h in heads.split(" ")]
            labels = ["", *relations.split(" ")]
            yield Sentence(tokens.split(" "), tags.split(" "), lemmas.split(" "), numbers, labels, read_tree(tree))


class LocalTree(NamedTuple):
    label: str
    kinds: tuple[str, ...]
    analysis: tuple[str, ...]


def local_trees(sentence: Sentence) -> list[LocalTree]:
    """Every local tree with its official analysis; those that the dependencies do not describe are left out."""
    found: list[LocalTree] = []
    _walk(sentence.tree, sentence.tree.label, sentence, found)
    return found


def _walk(node: Tree, label: str, sentence: Sentence, found: list[LocalTree]) -> tuple[str, list[int]]:
    """The kind of a node and the places of its words."""
    if node.word is not None:
        return token_kind(node.label, node.word), [node.index]
    walked = [_walk(child, name, sentence, found) for child, name in dependencies.local_children(node, label)]
    kinds = tuple(kind for kind, _ in walked)
    spans = [span for _, span in walked]
    if len(kinds) > 1:
        analysis = _analysis(spans, sentence)
        if analysis is not None:
            found.append(LocalTree(label, visible(label, kinds), analysis))
    kind = "S^to" if label == "S^to" else phrase_kind(label.rstrip("!^"), kinds)
    return kind, [place for span in spans for place in span]


def _analysis(spans: list[list[int]], sentence: Sentence) -> tuple[str, ...] | None:
    heads = [_head(span, sentence.heads) for span in spans]
    head = _head([place for span in spans for place in span], sentence.heads)
    if 0 in heads or head not in heads:
        return None
    entries = []
    for child in heads:
        governor = sentence.heads[child]
        if child == head:
            entries.append("H")
        elif governor == head:
            entries.append(sentence.relations[child])
        elif governor in heads:
            entries.append(f"{sentence.relations[child]}@{heads.index(governor)}")
        else:
            return None
    return tuple(entries)


def _head(span: list[int], heads: list[int]) -> int:
    """The only word of the span whose head lies outside, or 0."""
    inside = set(span)
    outward = [place for place in span if heads[place] not in inside]
    return outward[0] if len(outward) == 1 else 0


def learn_dependencies(parsed: list[list[LocalTree]]) -> dict[str, dict[str, str]]:
    """The back-off counts, then the local trees that the rules with these counts do not get right."""
    full: Counter[LocalTree] = Counter(tree for trees in parsed for tree in trees)
    relations = _learn_relations(full)
    analyses: defaultdict[tuple[str, tuple[str, ...]], Counter[tuple[str, ...]]] = defaultdict(Counter)
    for tree, count in full.items():
        analyses[tree.label, tree.kinds][tree.analysis] += count
    local = {}
    for (label, kinds), counts in analyses.items():
        best = counts.most_common(1)[0][0]
        if dependencies.analysis_by_rule(label, kinds, relations) != best:
            local[dependencies.local_key(label, kinds)] = " ".join(best)
    print(f"{len(analyses):,} kinds of local trees, {len(local):,} not as the rules have them")
    return {"local": local, "relations": relations}


def _learn_relations(full: Counter[LocalTree]) -> dict[str, str]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    wider: dict[str, str] = {}
    for tree, count in full.items():
        head = tree.analysis.index("H")
        for place, entry in enumerate(tree.analysis):
            if place != head:
                keys = dependencies.relation_keys(tree.label, tree.kinds, head, place)
                for key, next_key in zip(keys, [*keys[1:], ""]):
                    counts[key][entry.partition("@")[0]] += count
                    # After step 6 comes a key with something new in it, so that none can stand for it.
                    wider[key] = "" if key.startswith("6") else next_key
    relations = {key: found.most_common(1)[0][0] for key, found in counts.items()}
    # A context that says the same as the next wider one need not be kept.
    return {key: found for key, found in relations.items() if found != relations.get(wider[key])}


def learn_lemmas(read: list[Sentence]) -> dict[str, dict[str, object]]:
    """What endings change, and which base forms there are, for verbs and plural nouns."""
    forms: dict[str, dict[str, str]] = {"verbs": {}, "plurals": {}}
    bases: dict[str, set[str]] = {"verbs": set(), "plurals": set()}
    for sentence in read:
        for word, tag, lemma in zip(sentence.tokens, sentence.tags, sentence.lemmas):
            if tag == "NNS":
                forms["plurals"][word] = lemma
            elif tag.startswith("VB"):
                forms["verbs"][word] = lemma
            elif tag == "NN":
                bases["plurals"].add(word)
            if tag in ("NN", "JJ", "VB", "VBP"):
                bases["verbs"].add(word)
    learned: dict[str, dict[str, object]] = {}
    for group, lemmas in forms.items():
        known = bases[group] | {lemma for word, lemma in lemmas.items() if group == "verbs" or word != lemma}
        learned[group] = {"changes": _changes(lemmas), "known": " ".join(sorted(known))}
    return learned


def _changes(lemmas: dict[str, str]) -> dict[str, str]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, lemma in lemmas.items():
        change = _change(word, lemma)
        keys = list(ending_keys(word))
        # An irregular word tells nothing about others.
        for key in keys[:1] if _is_irregular(word, lemma) else keys:
            counts[key][change] += 1
    return {key: max(found, key=lambda change: (found[change], change)) for key, found in counts.items()}


def _is_irregular(word: str, lemma: str) -> bool:
    if word == lemma:
        return word.endswith(("ing", "ed")) or (word.endswith("s") and not word.endswith(("ss", "us")))
    change = _change(word, lemma)
    cut = word[len(word) - int(change[0]) :]
    if change == "1us" or (change == "2an" and word.endswith("men")):
        return False
    return not _REGULAR.fullmatch(cut) or change[1:] not in ("", "e", "y")


def _change(word: str, lemma: str) -> str:
    same = 0
    while same < min(len(word), len(lemma)) and word[same] == lemma[same]:
        same += 1
    return f"{len(word) - same}{lemma[same:]}"


def write(path: Path, content: object) -> None:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    # No time stamp: the same counts give the same file.
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parses", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "src/capeval/data/parse")
    parser.add_argument("--lines", default=":", help="FROM:TO, to keep some lines for measuring")
    options = parser.parse_args()
    start, stop = (int(x) if x else None for x in options.lines.split(":"))
    read = list(sentences(options.parses, slice(start, stop)))
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out / "dependencies.json.gz", learn_dependencies([local_trees(s) for s in read]))
    write(options.out / "lemmas.json.gz", learn_lemmas(read))


if __name__ == "__main__":
    main()
