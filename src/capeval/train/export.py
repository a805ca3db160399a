"""From torch to ONNX."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from capeval.errors import CapevalError, MissingExtra
from capeval.train.checkpoint import write_bytes

Weights = Literal["float32", "float16", "int8"]

_OPSET = 17
_SMALL = 1024  # numbers; below it half precision saves nothing


def to_onnx(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    outputs: Sequence[str],
    path: Path,
    *,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    weights: Weights = "float32",
) -> None:
    """Writes a module as ONNX. The first axis of all inputs and outputs is the batch; `dynamic` frees other axes.

    `float16` stores the weights in half precision and computes in single precision; `int8` quantises matrix products.
    """
    free = {name: {0: "batch"} | dict((dynamic or {}).get(name, {})) for name in [*inputs, *outputs]}
    was_training = module.training
    module.eval()
    with tempfile.TemporaryDirectory(prefix="capeval-export-") as scratch:
        exported = Path(scratch) / "model.onnx"
        try:
            with warnings.catch_warnings():
                # The older exporter: it makes one LSTM node of an LSTM, and needs no further package.
                warnings.simplefilter("ignore")
                torch.onnx.export(
                    module,
                    tuple(inputs.values()),
                    str(exported),
                    input_names=list(inputs),
                    output_names=list(outputs),
                    dynamic_axes=free,
                    opset_version=_OPSET,
                    dynamo=False,
                )
        finally:
            module.train(was_training)
        if weights == "float16":
            _halve(exported)
        elif weights == "int8":
            _quantise(exported)
        elif weights != "float32":
            raise CapevalError(f"weights can be float32, float16 or int8, not {weights!r}")
        write_bytes(path, exported.read_bytes())


def _halve(path: Path) -> None:
    """Stores large weights as float16, with a conversion that ONNX Runtime does once, when the model is opened."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ModuleNotFoundError as error:
        raise MissingExtra("exporting with float16 weights", "train") from error
    model = onnx.load(str(path))
    conversions = []
    for weight in model.graph.initializer:
        if weight.data_type != TensorProto.FLOAT or np.prod(weight.dims) < _SMALL:
            continue
        values = numpy_helper.to_array(weight)
        if np.abs(values).max() > np.finfo(np.float16).max:
            raise CapevalError(f"the weight {weight.name} is too large for float16")
        name, stored = weight.name, f"{weight.name}.half"
        weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), stored))
        conversions.append(helper.make_node("Cast", [stored], [name], to=TensorProto.FLOAT))
    nodes = [*conversions, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, str(path))


def _quantise(path: Path) -> None:
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ModuleNotFoundError as error:
        raise MissingExtra("exporting with int8 weights", "train") from error
    # Seven bits: with eight, sums overflow on processors without VNNI.
    quantize_dynamic(str(path), str(path), weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
