"""Captions to trees, dependencies and graphs, as the official SPICE pipeline has them."""

from capeval.scene.pipeline import (
    PARSERS,
    default_parser,
    dependencies_of,
    graph_of,
    graphs_of,
    trees_of,
    tuples_of,
)

__all__ = ["PARSERS", "default_parser", "dependencies_of", "graph_of", "graphs_of", "trees_of", "tuples_of"]
