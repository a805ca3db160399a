"""Captions to trees, dependencies and graphs, as the official SPICE pipeline has them."""

from capeval.parse.pipeline import graph_of, trees_of, tuples_of

__all__ = ["graph_of", "trees_of", "tuples_of"]
