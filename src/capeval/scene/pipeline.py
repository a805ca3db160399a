"""From tokenised captions to graphs and tuples, by the official parser or by the fast one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

from capeval.engine.graph_types import Graph, SceneTuple
from capeval.errors import UnknownName
from capeval.run import Run
from capeval.scene.graph import enhanced_graph, graph_of_tree, tokens_of_tree, tuples_of_graph
from capeval.scene.official.dependencies import basic_dependencies
from capeval.scene.official.grammar import grammar_path, load_grammar
from capeval.scene.official.parser import Parser
from capeval.scene.official.tree import read_tree
from capeval.scene.store import Dependencies, Parsed, ParseStore
from capeval.text.tokenize import tokenize

# Raised whenever a change to the conversion or the rules changes tuples: parses on disk are then made anew.
REVISION = 1
# Parsed and stored together: enough to keep all threads busy, little to lose when interrupted.
BATCH = 1000

ParserName = Literal["official", "fast"]
PARSERS: tuple[ParserName, ...] = ("official", "fast")
NOTHING: Dependencies = ((), ())
T = TypeVar("T")


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
    return official_parser(run).trees([caption.split(" ") for caption in captions], run)


def graph_of(tree: str) -> Graph:
    """The graph of a tree in brackets."""
    return graph_of_tree(read_tree(tree))


def dependencies_of(
    captions: Sequence[str], parser: str = "official", run: Run | None = None
) -> Iterator[Dependencies]:
    """Tags, lemmas and basic trees of tokenised captions; nothing of a caption without words.

    Each distinct caption is parsed once. What the official parser finds is kept on disk; the fast one needs no store.
    """
    check_parser(parser)
    run = run or Run()
    if parser == "fast":
        from capeval.scene.fast import fast_parser

        yield from fast_parser().parses(captions, run)
        return
    wanted = [caption for caption in dict.fromkeys(captions) if caption.strip(" ")]
    known = _official(wanted, run, ParseStore.find_dependencies, lambda parsed: parsed.dependencies)
    for caption in captions:
        yield known.get(caption, NOTHING)


def graphs_of(captions: Sequence[str], parser: str = "official", run: Run | None = None) -> list[Graph]:
    """The graphs of tokenised captions; a caption without words has one without tokens."""
    return [enhanced_graph(tokens, basic) for tokens, basic in dependencies_of(captions, parser, run)]


def parse_captions(captions: Sequence[str], parser: str = "official", run: Run | None = None) -> list[Graph]:
    """The graphs of captions as people write them: they are tokenised first."""
    run = run or Run()
    return graphs_of([" ".join(tokens) for tokens in tokenize(captions, run)], parser, run)


def tuples_of(captions: Sequence[str], parser: str = "official", run: Run | None = None) -> list[list[SceneTuple]]:
    """The tuples of tokenised captions, parsed as by `dependencies_of`."""
    check_parser(parser)
    wanted = [caption for caption in dict.fromkeys(captions) if caption.strip()]
    run = run or Run()
    if parser == "fast":
        known = _fast(wanted, run)
    else:
        known = _official(wanted, run, ParseStore.find_tuples, lambda parsed: parsed.tuples)
    return [known.get(caption, []) for caption in captions]


def _fast(captions: list[str], run: Run) -> dict[str, list[SceneTuple]]:
    from capeval.scene.fast import fast_parser

    parser = fast_parser()
    remembered = parser.remembered  # another thread may put a new one in its place
    known = {caption: remembered[caption] for caption in captions if caption in remembered}
    missing = [caption for caption in captions if caption not in known]
    found: dict[str, list[SceneTuple]] = {}
    telling = run.progress.bar(f"parsing {len(missing):,} captions", len(missing), "captions")
    with telling if len(missing) >= 20 * BATCH else nullcontext(_say_nothing) as show:
        for caption, tuples in zip(missing, parser.tuples(missing, run), strict=True):
            found[caption] = tuples
            if len(found) % BATCH == 0:
                show(len(found))
    parser.remember(found)
    return known | found


def _official(
    captions: list[str],
    run: Run,
    find: Callable[[ParseStore, Sequence[str]], dict[str, T]],
    take: Callable[[Parsed], T],
) -> dict[str, T]:
    """What is wanted of each caption: found in the store, or taken from a new parse, which goes there."""
    version = f"{official_parser(run).grammar.digest} {REVISION}"
    store = ParseStore(version, run.cache / "scene" / "parses.sqlite", note=run.progress.note)
    known = find(store, captions)
    missing = [caption for caption in captions if caption not in known]
    # A few take no time worth a word.
    telling = run.progress.bar(f"parsing {len(missing):,} captions", len(missing), "captions")
    with telling if len(missing) >= BATCH else nullcontext(_say_nothing) as show:
        for begin in range(0, len(missing), BATCH):
            some = missing[begin : begin + BATCH]
            new = {caption: _parsed(tree) for caption, tree in zip(some, trees_of(some, run), strict=True)}
            store.add(new)
            known |= {caption: take(parsed) for caption, parsed in new.items()}
            show(begin + len(some))
    return known


def _parsed(text: str) -> Parsed:
    if not text:
        return Parsed(NOTHING, [])
    tree = read_tree(text)
    tokens, basic = tuple(tokens_of_tree(tree)), tuple(basic_dependencies(tree))
    return Parsed((tokens, basic), tuples_of_graph(enhanced_graph(tokens, basic)))


def _say_nothing(done: int) -> None:
    pass
