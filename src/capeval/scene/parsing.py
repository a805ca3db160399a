"""Captions as graphs of words. The only place here that knows a parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capeval.run import Run
from capeval.scene import pipeline
from capeval.scene.graph_types import Edge, Graph, Token
from capeval.scene.store import ParseStore
from capeval.scene.tuples import SceneTuple
from capeval.text.tokenize import tokenize


def parse_captions(captions: Sequence[str], parser: str = "official", run: Run | None = None) -> list[Graph]:
    """The graph of each caption, with its tokens. What the official parser finds is kept on disk."""
    pipeline.check_parser(parser)
    run = run or Run()
    texts = [" ".join(tokens) for tokens in tokenize(captions, run)]
    wanted = [text for text in dict.fromkeys(texts) if text]
    if parser == "official":
        known = _official(wanted, run)
    else:
        known = dict(zip(wanted, pipeline.graphs_of(wanted, parser, run), strict=True))
    return [known.get(text, Graph((), (), ())) for text in texts]


def _official(captions: Sequence[str], run: Run) -> dict[str, Graph]:
    version = f"graphs {pipeline.official_parser(run).grammar.digest} {pipeline.REVISION}"
    store = ParseStore(version, run.cache / "spice" / "graphs.sqlite")
    known = {text: _graph(rows) for text, rows in store.find(captions).items()}
    missing = [text for text in captions if text not in known]
    if not missing:
        return known
    with run.progress.bar(f"parsing {len(missing):,} captions", len(missing), "captions") as show:
        for begin in range(0, len(missing), pipeline.BATCH):
            some = missing[begin : begin + pipeline.BATCH]
            new = dict(zip(some, pipeline.graphs_of(some, "official", run), strict=True))
            store.add({text: list(_rows(graph)) for text, graph in new.items()})
            known |= new
            show(begin + len(some))
    return known


def _rows(graph: Graph) -> Iterator[SceneTuple]:
    """A graph as tuples, which is what the store keeps."""
    yield from (("token", *token) for token in graph.tokens)
    yield from (("root", root) for root in graph.roots)
    yield from (("edge", e.head, e.dependent, e.relation, "1" if e.shared else "") for e in graph.edges)


def _graph(rows: Sequence[SceneTuple]) -> Graph:
    return Graph(
        tuple(Token(*row[1:]) for row in rows if row[0] == "token"),
        tuple(row[1] for row in rows if row[0] == "root"),
        tuple(Edge(row[1], row[2], row[3], bool(row[4])) for row in rows if row[0] == "edge"),
    )
