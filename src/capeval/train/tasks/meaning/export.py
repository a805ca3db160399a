"""The sentence encoder as an ONNX file of 8-bit weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto
from torch import Tensor

from capeval.models.fluency import Listener
from capeval.models.meaning import EPSILON, HEAD, Encoder, Trunk
from capeval.runtime.meaning import ENCODER
from capeval.train.checkpoint import write_bytes
from capeval.train.quantise import Dividing, Graph, Measuring, in_float, serialised


def export_encoder(model: Encoder, folder: Path, captions: Sequence[Any]) -> tuple[str, ...]:
    """`captions`: numbers of pieces, from which the ranges of numbers in the network are learned."""
    measuring = Measuring()
    measured = measuring.measure(encoder_graph(model, measuring), ({"tokens": row[None]} for row in captions))
    write_bytes(folder / ENCODER, serialised(encoder_graph(model, Dividing(measured))))
    return (ENCODER,)


def encoder_graph(model: Encoder, kind: Measuring | Dividing) -> Any:
    """Captions of one length [n, pieces] -> `states`, `sentences`, `words`, `sounds`."""
    graph = Graph()
    x = trunk(graph, model, kind)
    graph.add("Identity", x, output="states")
    mean = graph.add("ReduceMean", x, axes=[1], keepdims=0)
    graph.add("LpNormalization", mean, output="sentences", axis=-1, p=2)
    words = graph.add("MatMul", x, graph.constant(_of(model.word.weight).T))
    graph.add("LpNormalization", words, output="words", axis=-1, p=2)
    sounds(graph, model, x, mean)
    return graph.model(
        {"tokens": (TensorProto.INT64, ["n", "pieces"])},
        {
            "states": ["n", "pieces", model.shape.width],
            "sentences": ["n", model.shape.width],
            "words": ["n", "pieces", model.word.out_features],
            "sounds": ["n"],
        },
    )


def trunk(graph: Graph, model: Trunk, kind: Measuring | Dividing) -> str:
    """The states of captions."""
    x = _norm(graph, graph.add("Add", _pieces(graph, model), _places(graph, model)), model.first)
    for number, layer in enumerate(model.layers):
        x = _layer(graph, x, number, layer, kind)
    return x


def sounds(graph: Graph, model: Encoder | Listener, states: str, mean: str) -> None:
    """The output `sounds`."""
    first = graph.reshape(graph.slice(states, 1, 0, 1), -1, model.shape.width)
    inner: Any = model.sound[0]
    outer: Any = model.sound[2]
    heard = graph.add("Concat", mean, first, axis=-1)
    heard = graph.add("Tanh", in_float(graph, heard, "sound", _of(inner.weight).T, _of(inner.bias)))
    graph.reshape(in_float(graph, heard, "heard", _of(outer.weight).T, _of(outer.bias)), -1, output="sounds")


def _pieces(graph: Graph, model: Trunk) -> str:
    """Vectors of pieces, stored with 8 bits and a scale each."""
    vectors = _of(model.pieces.weight)
    scales = (np.abs(vectors).max(1, keepdims=True) / 127).astype(np.float32)
    rounded = graph.constant(np.rint(vectors / scales), "int8", name="pieces")
    found = graph.add("Cast", graph.add("Gather", rounded, "tokens", axis=0), to=TensorProto.FLOAT)
    return graph.add("Mul", found, graph.add("Gather", graph.constant(scales, name="scales"), "tokens", axis=0))


def _places(graph: Graph, model: Trunk) -> str:
    count = graph.slice(graph.add("Shape", "tokens"), 0, 1, 2)
    start, axis = graph.constant([0], "int64"), graph.constant([0], "int64")
    return graph.add("Slice", graph.constant(_of(model.places.weight)), start, count, axis)


def _layer(graph: Graph, x: str, number: int, layer: Any, kind: Measuring | Dividing) -> str:
    width = layer.joined.in_features
    heads = width // HEAD
    sides = (layer.query, layer.key, layer.value)
    weight, bias = (np.concatenate([_of(getattr(side, what)) for side in sides]) for what in ("weight", "bias"))
    # Queries are divided by the root of a head's width beforehand.
    scale = np.repeat([HEAD**-0.5, 1, 1], width)
    together = kind.linear(graph, x, f"{number}/looks", weight.T * scale, bias * scale)
    together = graph.reshape(together, 0, 0, 3 * heads, HEAD)
    query, key, value = (graph.slice(together, 2, heads * i, heads * (i + 1)) for i in range(3))
    query, value = (graph.add("Transpose", each, perm=[0, 2, 1, 3]) for each in (query, value))
    fits = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 2, 3, 1]))
    seen = graph.add("MatMul", graph.add("Softmax", fits, axis=-1), value)
    seen = graph.reshape(graph.add("Transpose", seen, perm=[0, 2, 1, 3]), 0, 0, width)
    x = _norm(
        graph, graph.add("Add", x, _linear(graph, seen, f"{number}/joined", layer.joined, kind)), layer.after_attention
    )
    inner = graph.add("Gelu", _linear(graph, x, f"{number}/inner", layer.inner, kind), domain="com.microsoft")
    return _norm(graph, graph.add("Add", x, _linear(graph, inner, f"{number}/outer", layer.outer, kind)), layer.after)


def _linear(graph: Graph, x: str, name: str, linear: Any, kind: Measuring | Dividing) -> str:
    return kind.linear(graph, x, name, _of(linear.weight).T, _of(linear.bias))


def _norm(graph: Graph, x: str, norm: Any) -> str:
    return graph.norm(x, _of(norm.weight), _of(norm.bias), EPSILON)


def _of(weight: Tensor) -> Any:
    return weight.detach().double().numpy()
