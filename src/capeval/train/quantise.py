"""ONNX graphs written by hand, whose matrix products are done with 8 bits by fixed scales.

Scales that are found while a network runs depend on all that runs with it. Here they are measured once, so what comes
out for a picture or a caption depends on that one alone:

- What goes into a product is rounded to 8 bits without sign. A few channels are much wider than the rest; each is
  divided by a factor of its own first, and its weights multiplied.
- Weights are rounded to 8 bits with sign by a scale per column, chosen so that no two neighbouring products can add up
  to more than 16 bits hold: that is where processors with AVX2 and without VNNI cut off.
- What rounding the weights does to the mean of a product goes back into the bias.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SMOOTHING = 0.7
"""How much of a channel's width goes from what is multiplied into the weights: 0 nothing, 1 all."""
OPSET = 17
Measured = Mapping[str, Any]


class Graph:
    """A chain of operators, with the tensors they need."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def constant(self, values: Any, dtype: str = "float32", name: str = "") -> str:
        name = name or f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype), name))
        return name

    def reshape(self, x: str, *shape: int, output: str = "") -> str:
        return self.add("Reshape", x, self.constant(shape, "int64"), output=output)

    def slice(self, x: str, axis: int, start: int, stop: int) -> str:
        return self.add("Slice", x, *(self.constant([n], "int64") for n in (start, stop, axis)))

    def norm(self, x: str, weight: Any, bias: Any, epsilon: float = 1e-6) -> str:
        return self.add("LayerNormalization", x, self.constant(weight), self.constant(bias), epsilon=epsilon, axis=-1)

    def model(self, inputs: Mapping[str, tuple[int, Sequence[Any]]], outputs: Mapping[str, Sequence[Any]]) -> Any:
        """`inputs`: type and size of each; outputs are floats."""
        made = helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info(name, kind, size) for name, (kind, size) in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in outputs.items()],
            self.tensors,
        )
        # Old versions on purpose: every ONNX Runtime that capeval supports reads them.
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(made, opset_imports=versions, ir_version=8, producer_name="capeval")


def in_float(graph: Graph, x: str, name: str, weight: Any, bias: Any) -> str:
    return graph.add("Add", graph.add("MatMul", x, graph.constant(weight, name=name)), graph.constant(bias))


def round_weights(weight: Any) -> tuple[Any, Any]:
    """The int8 weights and the scale of each column.

    Any two of four neighbours in a column, times 255 each, fit into 16 bits; processors add up two of them at a time.
    """

    def largest_pair(signed: Any) -> Any:
        return np.sort(signed.clip(0), axis=1)[:, 2:].sum(1).max(0)

    fours = weight.reshape(-1, 4, weight.shape[1])
    # 127 rather than 128 leaves room for both to be rounded up.
    scale = np.maximum(largest_pair(fours), largest_pair(-fours)).astype(np.float32) / np.float32(127)
    return np.rint(weight / scale).astype(np.int8), scale


def in_int8(graph: Graph, x: str, name: str, weight: Any, bias: Any, measured: Measured) -> str:
    """A product whose input has been divided by its factors, and whose weights have been multiplied by them."""
    low, high = measured[f"{name}/range"]
    scale = np.float32((high - low) / 255)
    zero = int(np.rint(-low / scale))
    rounded, scales = round_weights(weight)
    bias = bias + measured[f"{name}/means"].astype(np.float64) @ (weight - rounded * scales.astype(np.float64))
    step, middle = graph.constant(scale), graph.constant(zero, "uint8")
    x = graph.add("QuantizeLinear", x, step, middle)
    tensors = (graph.constant(rounded, "int8", name=name), step, graph.constant(scales), middle, "")
    return graph.add("MatMulIntegerToFloat", x, *tensors, graph.constant(bias), domain="com.microsoft")


class Measuring:
    """Products in float, whose inputs are outputs of the model too."""

    def __init__(self) -> None:
        self.inputs: dict[str, str] = {}

    def linear(self, graph: Graph, x: str, name: str, weight: Any, bias: Any) -> str:
        self.inputs[name] = x
        return in_float(graph, x, name, weight, bias)

    def measure(self, model: Any, given: Iterable[Mapping[str, Any]], untouched: Sequence[str] = ()) -> dict[str, Any]:
        """For the input of each product: its factors by channel (1 for those `untouched`), its range and its means,
        both after division by them. `given` are inputs of one picture or caption each.
        """
        import onnxruntime

        model.graph.output.extend(helper.make_tensor_value_info(x, 1, None) for x in self.inputs.values())
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        highest: dict[str, Any] = {}
        lowest: dict[str, Any] = {}
        sums: dict[str, Any] = {}
        count = 0
        for one in given:
            count += 1
            for name, values in zip(self.inputs, session.run(list(self.inputs.values()), dict(one))):
                highest[name] = np.maximum(highest.get(name, -np.inf), values[0].max(0))
                lowest[name] = np.minimum(lowest.get(name, np.inf), values[0].min(0))
                sums[name] = sums.get(name, 0) + values[0].mean(0, dtype=np.float64)
        found: dict[str, Any] = {}
        for name in self.inputs:
            width = np.maximum(highest[name], -lowest[name]).astype(np.float64)
            width = np.maximum(width, np.median(width) / 10) ** SMOOTHING
            factors = (width / np.exp(np.log(width).mean())).astype(np.float16)
            if name in untouched:
                factors[:] = 1
            divided = factors.astype(np.float64)
            found[f"{name}/factors"] = factors
            extremes = (lowest[name] / divided).min(), (highest[name] / divided).max()
            found[f"{name}/range"] = np.array(extremes, np.float32)
            found[f"{name}/means"] = (sums[name] / count / divided).astype(np.float16)
        return found


class Dividing:
    """Products in int8; each divides its input by the factors itself."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured

    def linear(self, graph: Graph, x: str, name: str, weight: Any, bias: Any) -> str:
        factors = self.measured[f"{name}/factors"].astype(np.float64)
        x = graph.add("Mul", x, graph.constant(1 / factors))
        return in_int8(graph, x, name, weight * factors[:, None], bias, self.measured)


def serialised(model: Any) -> bytes:
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data
