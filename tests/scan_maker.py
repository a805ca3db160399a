"""A small SCAN with random weights, written as ONNX without torch; `conftest.py` offers it to all tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from capeval.io.cache import sha256_of
from capeval.runtime.checkpoint import CONFIG, PROBE
from capeval.runtime.scan import REGIONS, VOCABULARY, WORDS, probe_outputs
from capeval.text.vocabulary import Vocabulary
from capeval.types import Floats

KNOWN = (
    "a the dog dogs man woman runs running on in of is at with and grass beach red kitchen street cars car park kids "
    "children play ball pizza cheese plate table food snow skis skiing hill jacket two tall building boy girl cat cake"
)


def write_scan(
    folder: Path,
    *,
    words: int = 12,
    width: int = 16,
    region_width: int = 8,
    embedded: int = 10,
    direction: str = "i2t",
    temperature: float = 4.0,
    known: str = KNOWN,
    facts: dict[str, Any] | None = None,
    seed: int = 0,
) -> Path:
    """Writes the checkpoint; random weights, as large as trained ones are."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    vocabulary = Vocabulary(known.split())

    def weights(*shape: int) -> Floats:
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    gru = [weights(2, 3 * width, embedded), weights(2, 3 * width, width), weights(2, 6 * width)]
    _write_words(folder / WORDS, random.standard_normal((len(vocabulary), embedded)).astype(np.float32), *gru)
    _write_regions(folder / REGIONS, weights(width, region_width).T.copy(), weights(width))
    (folder / VOCABULARY).write_bytes(vocabulary.to_bytes())
    config = {"words": words, "direction": direction, "temperature": temperature, "width": width}
    given = {
        "tokens": random.integers(4, len(vocabulary), (3, 5)),
        "regions": random.standard_normal((3, 6, region_width)).astype(np.float32),
    }
    found = probe_outputs(folder, config, given)
    sides = {f"input.{name}": array for name, array in given.items()}
    np.savez(folder / PROBE, **sides, **{f"output.{name}": array for name, array in found.items()})
    files = {name: sha256_of(folder / name) for name in (WORDS, REGIONS, VOCABULARY, PROBE)}
    content = {"format": 1, "model": "scan", "config": config, "facts": facts or {}, "files": files}
    (folder / CONFIG).write_text(json.dumps(content))
    return folder


def _write_words(path: Path, embedding: Floats, w: Floats, r: Floats, b: Floats) -> None:
    from onnx import TensorProto, helper

    width = r.shape[2]
    nodes = [
        helper.make_node("Gather", ["embedding", "tokens"], ["embedded"]),
        helper.make_node("Transpose", ["embedded"], ["steps"], perm=[1, 0, 2]),
        helper.make_node(
            "GRU", ["steps", "w", "r", "b"], ["both"],
            hidden_size=width, direction="bidirectional", linear_before_reset=1,
        ),
        helper.make_node("ReduceMean", ["both"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Transpose", ["mean"], ["read"], perm=[1, 0, 2]),
        helper.make_node("LpNormalization", ["read"], ["words"], axis=-1, p=2),
    ]  # fmt: skip
    given = helper.make_tensor_value_info("tokens", TensorProto.INT64, ["n", "t"])
    result = helper.make_tensor_value_info("words", TensorProto.FLOAT, ["n", "t", width])
    _save(path, nodes, given, result, embedding=embedding, w=w, r=r, b=b)


def _write_regions(path: Path, w: Floats, b: Floats) -> None:
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("MatMul", ["regions", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["shifted"]),
        helper.make_node("LpNormalization", ["shifted"], ["mapped"], axis=-1, p=2),
    ]
    given = helper.make_tensor_value_info("regions", TensorProto.FLOAT, ["n", "r", w.shape[0]])
    result = helper.make_tensor_value_info("mapped", TensorProto.FLOAT, ["n", "r", w.shape[1]])
    _save(path, nodes, given, result, w=w, b=b)


def _save(path: Path, nodes: list[Any], given: Any, result: Any, **weights: Floats) -> None:
    import onnx
    from onnx import helper, numpy_helper

    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, path.stem, [given], [result], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
