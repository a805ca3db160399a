"""From tokenised captions to graphs and tuples."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache

from capeval import progress
from capeval.parse.grammar import load_grammar
from capeval.parse.graph import graph_of_tree
from capeval.parse.parser import Parser
from capeval.parse.store import ParseStore
from capeval.parse.tree import read_tree
from capeval.spice.graph_types import Graph
from capeval.spice.tuples import SceneTuple, tuples_of_graph

# Raised whenever a change to the conversion or the rules changes tuples: parses on disk are then made anew.
REVISION = 1
# Parsed and stored together: enough to keep all threads busy, little to lose when interrupted.
BATCH = 1000


@lru_cache(maxsize=1)
def official_parser() -> Parser:
    """The parser with the grammar from the cache directory."""
    return Parser(load_grammar())


def trees_of(captions: Sequence[str], threads: int = 1) -> list[str]:
    """The official trees of captions whose tokens are separated by spaces; "" for a caption without words."""
    return official_parser().trees([caption.split(" ") for caption in captions], threads=threads)


def graph_of(tree: str) -> Graph:
    """The graph of a tree in brackets."""
    return graph_of_tree(read_tree(tree))


def tuples_of(captions: Sequence[str], threads: int = 1) -> list[list[SceneTuple]]:
    """The tuples of tokenised captions. Each distinct caption is parsed once, ever: parses are kept on disk."""
    store = ParseStore(f"{official_parser().grammar.digest} {REVISION}")
    wanted = [caption for caption in dict.fromkeys(captions) if caption.strip()]
    known = store.find(wanted)
    missing = [caption for caption in wanted if caption not in known]
    # A few take no time worth a word.
    telling = progress.bar(f"parsing {len(missing):,} captions", len(missing), "captions")
    with telling if len(missing) >= BATCH else nullcontext(_say_nothing) as show:
        for begin in range(0, len(missing), BATCH):
            some = missing[begin : begin + BATCH]
            trees = trees_of(some, threads)
            new = {caption: tuples_of_graph(graph_of(tree)) for caption, tree in zip(some, trees, strict=True)}
            store.add(new)
            known |= new
            show(begin + len(some))
    return [known.get(caption, []) for caption in captions]


def _say_nothing(done: int) -> None:
    pass
