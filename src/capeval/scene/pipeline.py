"""From tokenised captions to graphs and tuples, by the official parser or by the fast one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Literal

from capeval.errors import UnknownName
from capeval.run import Run
from capeval.scene.graph import Basic, enhanced_graph, graph_of_tree, tokens_of_tree
from capeval.scene.graph_types import Graph, Token
from capeval.scene.official.dependencies import basic_dependencies
from capeval.scene.official.grammar import grammar_path, load_grammar
from capeval.scene.official.parser import Parser
from capeval.scene.official.tree import read_tree
from capeval.scene.store import ParseStore
from capeval.scene.tuples import SceneTuple, tuples_of_graph

# Raised whenever a change to the conversion or the rules changes tuples: parses on disk are then made anew.
REVISION = 1
# Parsed and stored together: enough to keep all threads busy, little to lose when interrupted.
BATCH = 1000

ParserName = Literal["official", "fast"]
PARSERS: tuple[ParserName, ...] = ("official", "fast")
Dependencies = tuple[tuple[Token, ...], tuple[Basic, ...]]
"""Words with tags and lemmas, and the basic tree."""


def default_parser(run: Run | None = None) -> ParserName:
    """The official one where its grammar is, else the fast one, which needs nothing."""
    return "official" if grammar_path((run or Run()).cache).is_file() else "fast"


def check_parser(name: str) -> None:
    if name not in PARSERS:
        raise UnknownName("parser", name, PARSERS)


def official_parser(run: Run | None = None) -> Parser:
    """The parser with the grammar from the cache directory."""
    return _parser_with(grammar_path((run or Run()).cache))


@lru_cache(maxsize=1)
def _parser_with(grammar: Path) -> Parser:
    return Parser(load_grammar(grammar))


def trees_of(captions: Sequence[str], run: Run | None = None) -> list[str]:
    """The official trees of captions whose tokens are separated by spaces; "" for a caption without words."""
    run = run or Run()
    return official_parser(run).trees([caption.split(" ") for caption in captions], threads=run.threads)


def graph_of(tree: str) -> Graph:
    """The graph of a tree in brackets."""
    return graph_of_tree(read_tree(tree))


def dependencies_of(
    captions: Sequence[str], parser: str = "official", run: Run | None = None
) -> Iterator[Dependencies]:
    """Tags, lemmas and basic trees of tokenised captions; nothing of a caption without words."""
    check_parser(parser)
    run = run or Run()
    if parser == "fast":
        from capeval.scene.fast import fast_parser

        yield from fast_parser().parses(captions, run.threads)
        return
    for text in trees_of(captions, run):
        tree = read_tree(text) if text else None
        yield (tuple(tokens_of_tree(tree)), tuple(basic_dependencies(tree))) if tree else ((), ())


def graphs_of(captions: Sequence[str], parser: str = "official", run: Run | None = None) -> list[Graph]:
    """The graphs of tokenised captions; a caption without words has one without tokens."""
    return [enhanced_graph(tokens, basic) for tokens, basic in dependencies_of(captions, parser, run)]


def tuples_of(captions: Sequence[str], parser: str = "official", run: Run | None = None) -> list[list[SceneTuple]]:
    """The tuples of tokenised captions.

    Each distinct caption is parsed once. What the official parser finds is kept on disk; the fast one needs no store.
    """
    check_parser(parser)
    wanted = [caption for caption in dict.fromkeys(captions) if caption.strip()]
    run = run or Run()
    known = _fast(wanted, run) if parser == "fast" else _official(wanted, run)
    return [known.get(caption, []) for caption in captions]


def _fast(captions: list[str], run: Run) -> dict[str, list[SceneTuple]]:
    from capeval.scene.fast import fast_parser

    found: dict[str, list[SceneTuple]] = {}
    telling = run.progress.bar(f"parsing {len(captions):,} captions", len(captions), "captions")
    with telling if len(captions) >= 20 * BATCH else nullcontext(_say_nothing) as show:
        for caption, tuples in zip(captions, fast_parser().tuples(captions, run.threads), strict=True):
            found[caption] = tuples
            if len(found) % BATCH == 0:
                show(len(found))
    return found


def _official(captions: list[str], run: Run) -> dict[str, list[SceneTuple]]:
    store = ParseStore(f"{official_parser(run).grammar.digest} {REVISION}", run.cache / "spice" / "parses.sqlite")
    known = store.find(captions)
    missing = [caption for caption in captions if caption not in known]
    # A few take no time worth a word.
    telling = run.progress.bar(f"parsing {len(missing):,} captions", len(missing), "captions")
    with telling if len(missing) >= BATCH else nullcontext(_say_nothing) as show:
        for begin in range(0, len(missing), BATCH):
            some = missing[begin : begin + BATCH]
            trees = trees_of(some, run)
            new = {caption: tuples_of_graph(graph_of(tree)) for caption, tree in zip(some, trees, strict=True)}
            store.add(new)
            known |= new
            show(begin + len(some))
    return known


def _say_nothing(done: int) -> None:
    pass
