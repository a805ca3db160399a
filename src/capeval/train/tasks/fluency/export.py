"""The network of fluency as an ONNX file of 8-bit weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import TensorProto

from capeval.models.fluency import Listener
from capeval.runtime.fluency import NETWORK
from capeval.train.checkpoint import write_bytes
from capeval.train.quantise import Dividing, Graph, Measuring, serialised
from capeval.train.tasks.meaning.export import sounds, trunk


def export_listener(model: Listener, folder: Path, captions: Sequence[Any]) -> tuple[str, ...]:
    """`captions`: numbers of pieces, from which the ranges of numbers in the network are learned."""
    measuring = Measuring()
    measured = measuring.measure(_graph(model, measuring), ({"tokens": row[None]} for row in captions))
    write_bytes(folder / NETWORK, serialised(_graph(model, Dividing(measured))))
    return (NETWORK,)


def _graph(model: Listener, kind: Measuring | Dividing) -> Any:
    """Captions of one length [n, pieces] -> `sounds`."""
    graph = Graph()
    states = trunk(graph, model, kind)
    sounds(graph, model, states, graph.add("ReduceMean", states, axes=[1], keepdims=0))
    return graph.model({"tokens": (TensorProto.INT64, ["n", "pieces"])}, {"sounds": ["n"]})
