"""Small modules of UICE with random weights, written as ONNX without torch; `conftest.py` offers them to all tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from capeval.io.cache import sha256_of
from capeval.runtime.checkpoint import CONFIG, PROBE
from capeval.runtime.uice import (
    CAPTIONS,
    FUSION,
    HEAD,
    PICTURES,
    SYNTAX,
    VOCABULARY,
    fused,
    semantic_outputs,
    syntax_outputs,
)
from capeval.text.vocabulary import Vocabulary
from capeval.types import Floats

KNOWN = (
    "a the dog dogs man woman runs running on in of is at with and grass beach red kitchen street cars car park kids "
    "children play ball pizza cheese plate table food snow skis skiing hill jacket two tall building boy girl cat cake"
)
WORDS, EMBEDDED, HIDDEN, KERNELS, KERNEL_WIDTH = 12, 10, 6, 4, 3


def write_uice(folder: Path, *, seed: int = 0, width: int = 8, facts: dict[str, Any] | None = None) -> Path:
    """Writes three checkpoints into a folder: `semantics`, `syntax` and `fusion`."""
    random = np.random.default_rng(seed)

    def weights(*shape: int) -> Floats:
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    _write_syntax(folder / "syntax", random, weights)
    _write_semantics(folder / "semantics", random, weights, width, facts or {})
    _write_fusion(folder / "fusion", random)
    return folder


def _write_syntax(folder: Path, random: np.random.Generator, weights: Any) -> None:
    from onnx import helper

    folder.mkdir(parents=True)
    words = Vocabulary(KNOWN.split())
    nodes = [
        helper.make_node("Gather", ["embedding", "tokens"], ["embedded"]),
        helper.make_node("Transpose", ["embedded"], ["steps"], perm=[1, 0, 2]),
        helper.make_node("LSTM", ["steps", "w", "r", "b"], ["read"], hidden_size=HIDDEN),
        helper.make_node("Squeeze", ["read", "one"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["back"], perm=[1, 0, 2]),
        helper.make_node("MatMul", ["back", "out"], ["products"]),
        helper.make_node("Squeeze", ["products", "two"], ["logits"]),
    ]
    lstm = {"w": weights(1, 4 * HIDDEN, EMBEDDED), "r": weights(1, 4 * HIDDEN, HIDDEN), "b": weights(1, 8 * HIDDEN)}
    embedding = random.standard_normal((len(words), EMBEDDED)).astype(np.float32)
    places = {"one": np.array([1]), "two": np.array([2])}
    _save(folder / SYNTAX, nodes, ("tokens", ["n", "t"]), ("logits", ["n", "t"]),
          embedding=embedding, out=3 * weights(HIDDEN, 1), **lstm, **places)  # fmt: skip
    given = {"tokens": random.integers(4, len(words), (3, 5))}
    _finish(folder, "uice-syn", {"words": WORDS}, given, syntax_outputs(folder, given), SYNTAX, words)


def _write_semantics(
    folder: Path, random: np.random.Generator, weights: Any, width: int, facts: dict[str, Any]
) -> None:
    from onnx import helper

    folder.mkdir(parents=True)
    words = Vocabulary(KNOWN.split())
    sizes = np.array([-1, KERNELS, KERNEL_WIDTH])
    read = [
        helper.make_node("Gather", ["embedding", "tokens"], ["embedded"]),
        helper.make_node("ReduceMean", ["embedded"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["mean", "w"], ["product"]),
        helper.make_node("Reshape", ["product", "sizes"], ["captions"]),
    ]
    seen = [
        helper.make_node("MatMul", ["vectors", "w"], ["product"]),
        helper.make_node("Reshape", ["product", "sizes"], ["pictures"]),
    ]
    embedding = random.standard_normal((len(words), EMBEDDED)).astype(np.float32)
    result = ["n", KERNELS, KERNEL_WIDTH]
    _save(folder / CAPTIONS, read, ("tokens", ["n", "t"]), ("captions", result),
          embedding=embedding, w=weights(EMBEDDED, KERNELS * KERNEL_WIDTH), sizes=sizes)  # fmt: skip
    _save(folder / PICTURES, seen, ("vectors", ["n", width]), ("pictures", result),
          w=weights(width, KERNELS * KERNEL_WIDTH), sizes=sizes)  # fmt: skip
    np.savez(folder / HEAD, weight=np.full(KERNELS, 2.0), bias=np.array(-0.5), sizes=sizes[1:])
    given = {
        "tokens": random.integers(4, len(words), (3, 5)),
        "vectors": random.standard_normal((3, width)).astype(np.float32),
    }
    found = semantic_outputs(folder, given)
    _finish(folder, "uice-sem", {"words": WORDS}, given, found, CAPTIONS, words, PICTURES, HEAD, facts=facts)


def _write_fusion(folder: Path, random: np.random.Generator) -> None:
    folder.mkdir(parents=True)
    layers = {"hidden": np.array([[0.5, 0.0], [0.0, 0.5]]), "hidden_bias": np.zeros(2)}
    layers |= {"out": np.array([1.0, 1.0]), "out_bias": np.array(0.0)}
    np.savez(folder / FUSION, **layers)  # type: ignore[arg-type]
    given = {"scores": random.random((5, 2))}
    _finish(folder, "uice", {}, given, {"score": fused(layers, given["scores"])}, FUSION, None)


def _finish(
    folder: Path, model: str, config: dict[str, Any], given: Any, found: Any, first: str, words: Vocabulary | None,
    *others: str, facts: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    names = [first, *others, PROBE]
    if words is not None:
        (folder / VOCABULARY).write_bytes(words.to_bytes())
        names.append(VOCABULARY)
    sides = {f"input.{name}": array for name, array in given.items()}
    np.savez(folder / PROBE, **sides, **{f"output.{name}": array for name, array in found.items()})
    files = {name: sha256_of(folder / name) for name in names}
    content = {"format": 1, "model": model, "config": config, "facts": facts or {}, "files": files}
    (folder / CONFIG).write_text(json.dumps(content))


def _save(path: Path, nodes: list[Any], given: Any, result: Any, **weights: Any) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    kind = TensorProto.INT64 if given[0] == "tokens" else TensorProto.FLOAT
    inputs = helper.make_tensor_value_info(given[0], kind, given[1])
    output = helper.make_tensor_value_info(result[0], TensorProto.FLOAT, result[1])
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, path.stem, [inputs], [output], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
