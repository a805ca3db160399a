"""The int8 encoder dinov2-s: near the float model, without overflow on any processor, the same for a picture always.

`python tests/runtime/test_dinov2.py FLOAT.onnx` records what the float model, made by `tools/build_dinov2.py --float`,
sees in the demo's photographs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from capeval.io.assets import assets
from capeval.io.cache import sha256_of
from capeval.io.shipped import shipped
from capeval.runtime.encoder import ENCODERS, Encoder, Pixels, prepare
from capeval.runtime.session import open_session

pytest.importorskip("onnxruntime")
pytest.importorskip("PIL.Image")

GOLDEN = Path(__file__).parents[1] / "golden" / "dinov2_float.npz"
PHOTOGRAPHS = ("astronaut", "cat", "coffee", "rocket")


def photographs() -> Pixels:
    folder = shipped("demo") / "pictures"
    return np.stack([prepare((folder / f"{name}.jpg").read_bytes(), 224) for name in PHOTOGRAPHS])


def record(model: Path) -> None:
    vectors, regions = Encoder(model).encode(photographs())
    np.savez_compressed(GOLDEN, vectors=vectors.astype(np.float16), regions=regions[1:3].astype(np.float16))


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder("dinov2-s")


def cosine(a: Any, b: Any) -> Any:
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def test_features_are_near_those_of_the_float_model(encoder: Encoder) -> None:
    vectors, regions = encoder.encode(photographs())
    with np.load(GOLDEN) as exact:
        assert cosine(vectors, exact["vectors"]).min() > 0.99
        found = cosine(regions[1:3], exact["regions"])
        assert (found.mean() > 0.99, found.min() > 0.97) == (True, True)
        unlike = cosine(vectors, np.roll(exact["vectors"], 1, axis=0))
    assert unlike.max() < 0.5, "vectors of other photographs are not near"


def test_the_vector_is_the_class_token_beside_the_mean_of_the_regions(encoder: Encoder) -> None:
    vectors, regions = encoder.encode(photographs())
    assert np.allclose(vectors[:, 384:], regions.mean(1), atol=1e-4)
    assert (cosine(vectors[:, :384], vectors[:, 384:]) < 0.9).all()


@pytest.mark.parametrize("name", ENCODERS)
def test_the_table_says_what_the_file_is(name: str) -> None:
    known, encoder = ENCODERS[name], Encoder(name)
    assert sha256_of(encoder.path) == known.sha256 == assets()[name].files[0].sha256
    assert encoder.sizes == (known.vector, known.grid**2, known.region)
    assert (encoder.side, assets()[name].licence) == (known.side, known.licence)
    assert encoder.path.stat().st_size <= 25 << 20


def test_the_documented_table_is_that_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs/tasks/features.md").read_text()
    rows = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")
    ]
    told = {row[0]: (*row[2:6], *row[7:]) for row in rows if row[0] in ENCODERS}
    assert told == {
        each.name: (
            f"{each.side} x {each.side}", f"{each.vector:,}", f"{each.grid**2} x {each.region:,}",
            f"{each.grid} x {each.grid}", each.licence, each.sha256[:12],
        )
        for each in ENCODERS.values()
    }  # fmt: skip


def test_numbers_do_not_depend_on_threads(encoder: Encoder) -> None:
    pixels = photographs()
    alone = [encoder.encode(pixels[i : i + 1]) for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda i: encoder.encode(pixels[i : i + 1]), range(4)))
    several = open_session(encoder.path, threads=3).run(["vector", "regions"], {"pictures": pixels})
    for kind in (0, 1):
        expected = np.concatenate([each[kind] for each in alone])
        assert np.array_equal(np.concatenate([each[kind] for each in at_once]), expected)
        assert np.array_equal(several[kind], expected)


# --- what is in the file, read without the package onnx ---


def number(data: bytes, place: int) -> tuple[int, int]:
    """A protobuf varint, and the place after it."""
    value = shift = 0
    while True:
        byte = data[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    place = 0
    while place < len(data):
        key, place = number(data, place)
        size, start = number(data, place) if key & 7 in (0, 2) else (4, place)
        if key & 7 == 0:
            yield key >> 3, size
            place = start
        else:
            yield key >> 3, data[start : start + size]
            place = start + size


def field(key: int, content: bytes) -> bytes:
    length, size = b"", len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([key << 3 | 2]) + length + bytes([size]) + content


class Product(NamedTuple):
    """An int8 product in the file: its rounding, its weights and the tensors before and after it."""

    name: str
    given: str
    step: Any
    middle: Any
    weights: Any
    scales: Any
    bias: Any
    output: str


@pytest.fixture(scope="module")
def products(encoder: Encoder) -> list[Product]:
    (graph,) = (value for key, value in fields(encoder.path.read_bytes()) if key == 7)
    types = {1: np.float32, 2: np.uint8, 3: np.int8, 7: np.int64}
    tensors, rounded_from, found = {}, {}, []
    for key, value in fields(graph):
        if key == 5:
            parts = list(fields(value))
            shape = [each for part, each in parts if part == 1]
            facts = dict(part for part in parts if part[0] != 1)
            tensors[facts[8].decode()] = np.frombuffer(facts[9], types[facts[2]]).reshape(shape)
    for key, value in fields(graph):
        if key == 1:
            parts = list(fields(value))
            inputs = [each.decode() for part, each in parts if part == 1]
            (output,) = (each.decode() for part, each in parts if part == 2)
            (kind,) = (each for part, each in parts if part == 4)
            if kind == b"QuantizeLinear":
                rounded_from[output] = inputs[0]
            if kind == b"MatMulIntegerToFloat":
                given, weights, step, scales, middle, _, bias = inputs
                numbers = (tensors[each] for each in (step, middle, weights, scales, bias))
                found.append(Product(weights, rounded_from[given], *numbers, output))
    return found


def test_nearly_all_products_are_in_int8(products: list[Product]) -> None:
    assert len(products) == 46
    assert {each.weights.dtype for each in products} == {np.dtype(np.int8)}
    assert sum(each.weights.size for each in products) > 20e6


def test_one_layer_is_what_numpy_computes(encoder: Encoder, products: list[Product]) -> None:
    """And so it is where products are added in pairs of 16 bits that saturate: AVX2 without VNNI."""
    (layer,) = (each for each in products if each.name == "7/mlp/fc1")
    # Protobuf merges what is appended: two more outputs of the graph.
    more = b"".join(field(12, field(1, name.encode())) for name in (layer.given, layer.output))
    session = open_session(encoder.path.read_bytes() + field(7, more))
    given, found = session.run([layer.given, layer.output], {"pictures": photographs()[:1]})
    rounded = (np.rint(given[0] / layer.step) + layer.middle).clip(0, 255).astype(np.float64)  # exact, and quick
    assert len(np.unique(rounded)) > 150, "the range is used"
    weights = layer.weights.astype(np.float64)
    exact = rounded @ weights
    pairs = sum(saturated(rounded[:, i : i + 2], weights[i : i + 2]) for i in range(0, 384, 2))
    assert np.array_equal(pairs, exact)
    scaled = (exact - layer.middle * weights.sum(0)) * (layer.scales * layer.step) + layer.bias
    assert np.allclose(scaled, found[0], rtol=1e-4, atol=1e-4)


def saturated(two: Any, weights: Any) -> Any:
    return (two @ weights).clip(-(2**15), 2**15 - 1)


def test_no_two_products_exceed_sixteen_bits(products: list[Product]) -> None:
    """Whatever the picture, and whichever two of four neighbours a processor adds."""
    for each in products:
        assert 0.9 * 2**15 < worst(each.weights) < 2**15, each.name
    weights = products[0].weights.astype(int)
    plain = np.rint(weights / (np.abs(weights).max(0) / 127))
    assert worst(plain) > 2**15, "columns that use all of int8 would"


def worst(weights: Any) -> int:
    fours = weights.astype(np.int16).reshape(-1, 4, weights.shape[1])
    return max(255 * int(np.sort((sign * fours).clip(0), axis=1)[:, 2:].sum(1).max()) for sign in (1, -1))


if __name__ == "__main__":
    record(Path(sys.argv[1]))
