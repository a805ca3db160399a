"""The network's numbers in one file: whole numbers where the engine works with them, half precision elsewhere.

The file is a NumPy archive without pickled objects. `pack` makes it from the weights of a trained network,
`read_weights` reads and checks it.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.engine.network import ACTIVATION_SCALE, MAX_WEIGHT
from capeval.errors import DataError
from capeval.io.files import read_bytes
from capeval.io.shipped import shipped
from capeval.scene.fast.words import BUCKETS
from capeval.types import Array, Bytes, Floats, Shorts

FORMAT = 1
BUILTIN = shipped("parser", "parser.npz")
_MATRICES = ("hidden1", "input2", "hidden2", "output")
_VECTORS = ("bias2", "output_bias", "root", "label_bias")
_WORDS = ("word", "spelling", "glove", "input1", "bias1")


@dataclass(frozen=True)
class Weights:
    """`network`: what the engine's `parse_network` takes beside captions and inputs; `words`: what makes inputs."""

    tags: tuple[str, ...]
    labels: tuple[str, ...]
    vocabulary: dict[str, int]
    words: dict[str, Array]
    network: dict[str, Any]
    digest: str


def pack(
    state: Mapping[str, Floats], tags: tuple[str, ...], labels: tuple[str, ...], vocabulary: tuple[str, ...]
) -> bytes:
    """The file, from the arrays of `capeval.models.parser.ParserNet`. Word 0 stands for all unknown ones."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "word": state["word.weight"].astype(np.float16),
        "spelling": state["spelling.weight"].astype(np.float16),
        "glove": state["glove.weight"].astype(np.float16),
        "input1": _both(state, "weight_ih_l0").astype(np.float16),
        "bias1": _both(state, "bias_ih_l0") + _both(state, "bias_hh_l0"),
        "bias2": _both(state, "bias_ih_l1") + _both(state, "bias_hh_l1"),
        "output_bias": np.concatenate([state["tag.bias"], state["parts.bias"]]),
        "arc": state["arc"],
        "root": state["root"],
        "label": np.ascontiguousarray(state["label.weight"].T),
        "label_bias": state["label.bias"],
    }
    for name, matrix in (
        ("hidden1", _both(state, "weight_hh_l0")),
        ("input2", _both(state, "weight_ih_l1")),
        ("hidden2", _both(state, "weight_hh_l1")),
        ("output", np.concatenate([state["tag.weight"], state["parts.weight"]])),
    ):
        arrays[name], arrays[f"{name}_scale"] = _whole(matrix)
    facts = {"format": FORMAT, "tags": tags, "labels": labels}
    arrays["facts"] = _text(json.dumps(facts))
    arrays["vocabulary"] = _text("\n".join(vocabulary))
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def read_weights(path: str | Path = BUILTIN) -> Weights:
    """Reads a file that `pack` made; DataError if it is anything else."""
    return weights_from(read_bytes(str(path)), str(path))


def weights_from(data: bytes, source: str = "weights") -> Weights:
    """From the content of such a file."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        facts = json.loads(arrays["facts"].tobytes())
        if facts["format"] != FORMAT:
            raise DataError(f"format {facts['format']}, this version of capeval reads {FORMAT}", file=source)
        tags, labels = tuple(map(str, facts["tags"])), tuple(map(str, facts["labels"]))
        vocabulary = arrays["vocabulary"].tobytes().decode().split("\n")
        network: dict[str, Any] = {
            **{name: arrays[name] for name in _MATRICES},
            **{f"{name}_scale": arrays[f"{name}_scale"].astype(np.float32) for name in _MATRICES},
            **{name: arrays[name].astype(np.float32) for name in (*_VECTORS, "arc", "label")},
            "tags": len(tags),
        }
        words = {name: arrays[name].astype(np.float64) for name in _WORDS}
    except (KeyError, ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
        raise DataError(f"not the weights of a parser: {problem!r}", file=source) from None
    if (
        len(words["word"]) != len(vocabulary)
        or len(words["spelling"]) != BUCKETS
        or len(network["label_bias"]) != len(labels)
    ):
        raise DataError("vocabulary, labels and weights differ in size", file=source)
    numbers = [*words.values(), *(value for value in network.values() if isinstance(value, np.ndarray))]
    if not all(np.isfinite(each).all() for each in numbers):
        raise DataError("there are weights that are no numbers", file=source)
    digest = hashlib.blake2b(data, digest_size=8).hexdigest()
    return Weights(tags, labels, {word: i for i, word in enumerate(vocabulary) if i}, words, network, digest)


def _both(state: Mapping[str, Floats], name: str) -> Floats:
    """Of the LSTM's two directions."""
    return np.concatenate([state[f"lstm.{name}"], state[f"lstm.{name}_reverse"]])


def _whole(matrix: Floats) -> tuple[Shorts, Floats]:
    """Whole numbers, and what a sum of their products with activations must be multiplied by."""
    step = np.maximum(1e-9, np.abs(matrix).max(axis=1)) / MAX_WEIGHT
    return np.rint(matrix / step[:, None]).astype(np.int16), (step / float(ACTIVATION_SCALE)).astype(np.float32)


def _text(text: str) -> Bytes:
    return np.frombuffer(text.encode(), np.uint8)
