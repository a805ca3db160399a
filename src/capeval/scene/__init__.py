"""Captions to what they speak of: dependencies, graphs of words, tuples and scene graphs.

Two parsers do it: `official`, SPICE's own, and `fast`, a network of ours. Other rooms need no more than what is here.
"""

from capeval.engine.graph_types import Basic, Edge, Graph, SceneTuple, Token
from capeval.engine.scene import ATTRIBUTE_KINDS, COLUMNS
from capeval.scene.graph import enhanced_graph, tuples_of_graph
from capeval.scene.pipeline import (
    PARSERS,
    REVISION,
    default_parser,
    dependencies_of,
    graph_of,
    graphs_of,
    official_parser,
    parse_captions,
    trees_of,
    tuples_of,
)
from capeval.scene.scene_graph import SceneGraph, TupleComparison, explain, kind_of_attribute, meanings_of
from capeval.scene.tuple_files import file_digest, tuples_from_file

__all__ = [
    "ATTRIBUTE_KINDS",
    "COLUMNS",
    "PARSERS",
    "REVISION",
    "Basic",
    "Edge",
    "Graph",
    "SceneGraph",
    "SceneTuple",
    "Token",
    "TupleComparison",
    "default_parser",
    "dependencies_of",
    "enhanced_graph",
    "explain",
    "file_digest",
    "graph_of",
    "graphs_of",
    "kind_of_attribute",
    "meanings_of",
    "official_parser",
    "parse_captions",
    "trees_of",
    "tuples_from_file",
    "tuples_of",
    "tuples_of_graph",
]
